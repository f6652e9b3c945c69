import type { JsonSchema } from "../openapi/json-schema.ts";

type Visit = (value: JsonSchema, path: readonly string[]) => void;

/** Calls `visit` for each object below a value, with its path. */
function walk(value: unknown, visit: Visit, path: readonly string[] = []): void {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) visit(value as JsonSchema, path);
  for (const [key, item] of Object.entries(value)) walk(item, visit, [...path, key]);
}

/** As generators make names of it: without case, punctuation and a leading `New`. */
const nameOf = (name: string) =>
  name
    .replace(/^New(?=[A-Z])/, "")
    .replace(/[^A-Za-z0-9]/g, "")
    .toLowerCase();

/**
 * Names that generated code cannot tell apart: schemas, operations, parameters of one operation, fields of one object.
 */
export function clashesOf(document: object): string[] {
  const found: string[] = [];
  const compare = (names: readonly string[], position: string) => {
    for (const first of names) {
      const alike = names.filter((name) => nameOf(name) === nameOf(first));
      if (alike.length > 1 && alike[0] === first) found.push(`${position}: ${alike.join(", ")}`);
    }
  };
  const operations: string[] = [];
  walk(document, (value, path) => {
    if (["properties", "schemas"].includes(path.at(-1) ?? "")) compare(Object.keys(value), path.join("."));
    if (Array.isArray(value.parameters)) {
      compare(
        value.parameters.map(({ name }) => String(name)),
        path.join("."),
      );
    }
    if (typeof value.operationId === "string") operations.push(value.operationId);
  });
  compare(operations, "operations");
  return found;
}

/** Schemas that only requests use and whose name does not end in `Input`, and the other way round. */
export function misnamedInputs(document: { paths?: unknown; components?: unknown }): string[] {
  const { schemas } = document.components as { schemas: Record<string, JsonSchema> };
  const sent = new Set<string>();
  const returned = new Set<string>();
  const follow = (value: unknown, into: Set<string>) =>
    walk(value, ({ $ref: reference }) => {
      if (typeof reference !== "string" || !reference.startsWith("#/components/schemas/")) return;
      const name = reference.split("/").at(-1) ?? "";
      if (into.has(name)) return;
      into.add(name);
      follow(schemas[name], into);
    });
  walk(document.paths, ({ requestBody, parameters, responses }) => {
    follow([requestBody, parameters], sent);
    follow(responses, returned);
  });
  return Object.keys(schemas).filter((name) => name.endsWith("Input") !== (sent.has(name) && !returned.has(name)));
}

type Text = { name: string; position: string; limited: boolean; description: string };

/** The forms of a field that may be text: its own, those of a union, those of a list's items. */
function formsOf(schema: JsonSchema): JsonSchema[] {
  const union = (schema.anyOf ?? schema.oneOf ?? []) as JsonSchema[];
  const items = schema.type === "array" && schema.items ? formsOf(schema.items as JsonSchema) : [];
  return [schema, ...union.flatMap(formsOf), ...items].filter(({ type }) => type === "string");
}

/** Each field and parameter that is text, with a short position such as `Device.os` or `get /api/v1/devices ?os`. */
function textsOf(document: object): Text[] {
  const texts: Text[] = [];
  const add = (name: string, schema: JsonSchema, position: string) => {
    const forms = formsOf(schema);
    if (forms.length === 0) return;
    const limited = forms.some((form) => form.enum ?? form.const ?? form.format ?? form.pattern);
    texts.push({ name, position, limited, description: String(schema.description ?? "") });
  };
  walk(document, (value, path) => {
    if (path.at(-2) === "properties" && !path.includes("allOf")) add(path.at(-1) ?? "", value, positionOf(path));
    for (const parameter of Array.isArray(value.parameters) ? value.parameters : []) {
      const { name, schema, description } = parameter as { name: string; schema: JsonSchema; description?: string };
      add(name, { description, ...schema }, `${path[2]} ${path[1]} ?${name}`);
    }
  });
  return texts;
}

function positionOf(path: readonly string[]): string {
  const noise = [
    "properties",
    "items",
    "anyOf",
    "oneOf",
    "content",
    "application/json",
    "schema",
    "additionalProperties",
  ];
  const rest = path.filter((step) => !noise.includes(step) && !/^\d$/.test(step));
  if (rest[0] === "components") return rest.slice(2).join(".");
  const [, route, method, part, ...names] = rest;
  const where = part === "requestBody" ? "body" : "";
  return `${method} ${route} ${[where, ...names].filter(Boolean).join(".")}`;
}

/** Texts without limits whose name is that of an enum elsewhere in the document. */
export function limitedElsewhere(document: object): string[] {
  const enums = new Set<string>();
  walk(document, (value, path) => {
    if (path.includes("allOf")) return; // The codes of an error.
    const forms = formsOf(value);
    if (path.at(-2) === "properties" && forms.some((form) => form.enum)) enums.add(path.at(-1) ?? "");
    for (const { name, schema } of Array.isArray(value.parameters) ? value.parameters : []) {
      if (formsOf(schema as JsonSchema).some((form) => form.enum)) enums.add(String(name));
    }
  });
  return textsOf(document)
    .filter(({ name, limited }) => !limited && enums.has(name))
    .map(({ position }) => position);
}

/** Texts without limits whose description lists their values. */
export function valuesInProse(document: object): string[] {
  const list = /\bone (?:or more )?of \S+, \S|^`\w+`(?:, `\w+`)* or `\w+`/i;
  return textsOf(document)
    .filter(({ limited, description }) => !limited && list.test(description))
    .map(({ position }) => position);
}

export type Example = { position: string; value: unknown; schema: JsonSchema };

/** Each example and default with the schema that it must fit. */
export function examplesOf(document: object): Example[] {
  const examples: Example[] = [];
  walk(document, (value, path) => {
    // A field may have the name `example`; what is inside an example is a value, not a schema.
    if (path.at(-1) === "properties" || path.some((step, at) => step === "example" && path[at - 1] !== "properties"))
      return;
    const schema = (value.schema ?? value) as JsonSchema;
    for (const key of ["example", "default"]) {
      const of = key === "default" ? value : schema;
      if (value[key] !== undefined)
        examples.push({ position: [...path, key].join("."), value: value[key], schema: of });
    }
  });
  return examples;
}

/**
 * Descriptions of fields, parameters and headers that are no sentence, or that name a default which the schema lacks.
 */
export function fragments(document: object): string[] {
  const found: string[] = [];
  walk(document, ({ description }, path) => {
    const isDescribed = ["properties", "parameters", "headers"].includes(path.at(-2) ?? "");
    if (!isDescribed || typeof description !== "string" || path.includes("example")) return;
    const isSentence = description.split(" ").length > 2 && description.endsWith(".");
    if (!isSentence || /\bdefault\b/i.test(description)) found.push(`${path.slice(1).join(".")}: ${description}`);
  });
  return found;
}
