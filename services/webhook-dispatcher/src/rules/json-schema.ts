import { createContext, Script } from "node:vm";
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";

/** What a schema says of a value: null when it is valid, else where it is wrong and why. */
export type SchemaVerdict = { path: string; message: string } | null;
export type Validator = (value: unknown) => SchemaVerdict;

/** A schema, or a value under it, took longer than `limits` allow. */
export class SchemaTooSlow extends Error {}

/** Bytes of a schema as JSON, its levels, and milliseconds to read it, or to validate one value. */
export const limits = { bytes: 16_384, levels: 20, compileMs: 500, validateMs: 100 } as const;

export const dialect = "https://json-schema.org/draft/2020-12/schema";

const describing = new Ajv2020({ strict: false, logger: false });
const context = createContext(Object.create(null));
const running = new Script("run()");

/** Runs code that a user's schema decides; V8 ends it, patterns included, after `ms`. Throws SchemaTooSlow. */
function bounded<T>(run: () => T, ms: number): T {
  context.run = run;
  try {
    return running.runInContext(context, { timeout: ms }) as T;
  } catch (error) {
    // References that loop for ever end with the stack.
    if (error instanceof RangeError || isTimeout(error)) throw new SchemaTooSlow("too slow");
    throw error;
  } finally {
    context.run = null;
  }
}

const isTimeout = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";

/**
 * Compiles a JSON Schema (2020-12). Formats are annotations, as the draft's default is; nothing is loaded. Throws
 * SchemaTooSlow, and an Error whose message is for the schema's author.
 */
export function compileSchema(json: string): Validator {
  if (Buffer.byteLength(json) > limits.bytes) throw new Error(`At most ${limits.bytes} bytes`);
  const schema: unknown = JSON.parse(json);
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) throw new Error("A JSON object");
  const problem = problemOf(schema, 1);
  if (problem) throw new Error(problem);
  // The draft's own schema is compiled once: no organization's first schema pays for it.
  describing.getSchema(dialect);
  const validate = bounded(() => {
    if (!describing.validateSchema(schema)) throw new Error(describing.errorsText(describing.errors, { dataVar: "" }));
    // One for each schema: an instance keeps all that it has compiled.
    const options = {
      strict: false,
      validateFormats: false,
      meta: false,
      validateSchema: false,
      logger: false,
    } as const;
    return new Ajv2020({ ...options, inlineRefs: false }).compile(schema);
  }, limits.compileMs);
  return (value) => {
    const isValid: unknown = bounded(() => validate(value), limits.validateMs);
    if (isValid === true) return null;
    return verdictOf(validate.errors?.[0]);
  };
}

function verdictOf(error: ErrorObject | undefined): SchemaVerdict {
  const path = (error?.instancePath ?? "").split("/").slice(1);
  const { additionalProperty, unevaluatedProperty, missingProperty } = error?.params ?? {};
  const member: unknown = missingProperty ?? additionalProperty ?? unevaluatedProperty;
  if (typeof member === "string") path.push(member);
  const message = missingProperty === undefined ? (error?.message ?? "is refused by the schema") : "Required";
  return { path: path.join(".").slice(0, 200), message: message.slice(0, 200) };
}

/** What the draft allows and we do not: too many levels, another dialect, replies that come later. */
function problemOf(node: unknown, level: number): string | null {
  if (typeof node !== "object" || node === null) return null;
  if (level > limits.levels) return `At most ${limits.levels} levels`;
  if ("$async" in node) return "$async is not supported";
  if ("$schema" in node && node.$schema !== dialect) return `$schema must be ${dialect}`;
  for (const each of Object.values(node)) {
    const problem = problemOf(each, level + 1);
    if (problem) return problem;
  }
  return null;
}
