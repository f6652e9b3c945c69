import { AppError, type FieldErrors, isCustomEventType, longerThan, messageOf, validationError } from "@muster/kit";
import { isObjectText } from "./envelope.ts";
import { compileSchema, SchemaTooSlow } from "./json-schema.ts";

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

/** The fields of a new type. Throws `validation_failed`. */
export function newEventType(type: string, input: EventTypeInput): EventTypeFields {
  const errors: FieldErrors = {};
  if (!isCustomEventType(type)) {
    errors.type = ["custom. and segments of a to z, 0 to 9 and _"];
  }
  return checked({ ...noFields, ...requestedOf(eventTypePaths, input) }, errors, true);
}

/** The type after a change of the masked fields. Throws `no_updates`, `validation_failed`. */
export function changeEventType(
  stored: EventTypeFields,
  paths: readonly string[],
  input: EventTypeInput,
): EventTypeFields {
  const requested = eventTypePaths.filter((path) => paths.includes(path));
  if (requested.length === 0) throw new AppError("no_updates", "No updates provided");
  const isOfSchema = requested.includes("schema") || requested.includes("example");
  return checked({ ...stored, ...requestedOf(requested, input) }, {}, isOfSchema);
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

function checked(fields: EventTypeFields, errors: FieldErrors, isOfSchema: boolean): EventTypeFields {
  for (const name of ["description", "version"] as const) {
    if (longerThan(fields[name] ?? "", bounds[name])) errors[name] = [`At most ${bounds[name]} characters`];
  }
  if (fields.description === "") errors.description = ["Required"];
  const hasExample = fields.example !== null && isObjectText(fields.example);
  if (fields.example !== null && !hasExample) errors.example = ["A JSON object of at most 65,536 bytes"];
  if (isOfSchema && fields.schema !== null) checkSchema(fields.schema, hasExample ? fields.example : null, errors);
  if (Object.keys(errors).length > 0) throw validationError(errors);
  return fields;
}

/** A schema must end for an empty object and for its own example, which it must accept. */
function checkSchema(schema: string, example: string | null, errors: FieldErrors): void {
  try {
    const validate = compileSchema(schema);
    validate({});
    const verdict = example === null ? null : validate(JSON.parse(example));
    if (verdict) errors[verdict.path === "" ? "example" : `example.${verdict.path}`] = [verdict.message];
  } catch (error) {
    errors.schema = [error instanceof SchemaTooSlow ? "Takes too long" : messageOf(error).slice(0, 300)];
  }
}
