import { AppError, type FieldErrors, isCustomEventType, longerThan, messageOf, validationError } from "@muster/kit";
import { isObjectText } from "./envelope.ts";
import { SchemaTooSlow, type Validator } from "./json-schema.ts";

/** What an organization says of a type of its own. */
export type EventTypeFields = {
  description: string;
  /** JSON Schema 2020-12 as text; null: any object. */
  schema: string | null;
  version: string | null;
  /** `data` as text. */
  example: string | null;
  /** Events of it are refused. */
  archived: boolean;
};

export type EventTypeInput = {
  description: string;
  schemaJson: string;
  version: string;
  exampleJson: string;
  archived: boolean;
};

/** Paths of an update mask. */
export const eventTypePaths = ["description", "schema", "version", "example", "archived"] as const;

const noFields: EventTypeFields = { description: "", schema: null, version: null, example: null, archived: false };
const bounds = { description: 1_000, version: 50 };

type Compile = (json: string) => Validator;

/** The fields of a new type. Throws `validation_failed`. */
export function newEventType(type: string, input: EventTypeInput, compile: Compile): EventTypeFields {
  const errors: FieldErrors = {};
  if (!isCustomEventType(type)) {
    errors.type = ["custom. and segments of a to z, 0 to 9 and _"];
  }
  return checked({ ...noFields, ...requestedOf(eventTypePaths, input) }, errors, compile);
}

/** The type after a change of the masked fields. Throws `no_updates`, `validation_failed`. */
export function changeEventType(
  stored: EventTypeFields,
  paths: readonly string[],
  input: EventTypeInput,
  compile: Compile,
): EventTypeFields {
  const requested = eventTypePaths.filter((path) => paths.includes(path));
  if (requested.length === 0) throw new AppError("no_updates", "No updates provided");
  const isOfSchema = requested.includes("schema") || requested.includes("example");
  return checked({ ...stored, ...requestedOf(requested, input) }, {}, isOfSchema ? compile : null);
}

function requestedOf(
  paths: readonly (typeof eventTypePaths)[number][],
  input: EventTypeInput,
): Partial<EventTypeFields> {
  const all: EventTypeFields = {
    description: input.description.trim(),
    schema: input.schemaJson || null,
    version: input.version.trim() || null,
    example: input.exampleJson || null,
    archived: input.archived,
  };
  return Object.fromEntries(paths.map((path) => [path, all[path]]));
}

function checked(fields: EventTypeFields, errors: FieldErrors, compile: Compile | null): EventTypeFields {
  for (const name of ["description", "version"] as const) {
    if (longerThan(fields[name] ?? "", bounds[name])) errors[name] = [`At most ${bounds[name]} characters`];
  }
  if (fields.description === "") errors.description = ["Required"];
  const hasExample = fields.example !== null && isObjectText(fields.example);
  if (fields.example !== null && !hasExample) errors.example = ["A JSON object of at most 65,536 bytes"];
  if (compile !== null && fields.schema !== null) {
    checkSchema(compile, fields.schema, hasExample ? fields.example : null, errors);
  }
  if (Object.keys(errors).length > 0) throw validationError(errors);
  return fields;
}

const tooSlow = "Takes too long, or one of the organization did within the last 10 s";

/** A schema must end for an empty object and for its own example, which it must accept. */
function checkSchema(compile: Compile, schema: string, example: string | null, errors: FieldErrors): void {
  try {
    const validate = compile(schema);
    validate({});
    const verdict = example === null ? null : validate(JSON.parse(example));
    if (verdict) errors[verdict.path === "" ? "example" : `example.${verdict.path}`] = [verdict.message];
  } catch (error) {
    errors.schema = [error instanceof SchemaTooSlow ? tooSlow : messageOf(error).slice(0, 300)];
  }
}
