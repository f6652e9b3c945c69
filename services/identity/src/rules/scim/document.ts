import { hasFields, longerThan, storableText } from "@muster/kit";
import { scimInvalid } from "./errors.ts";
import { type Attribute, attributeOf, externalId, type Resource, resources, type Schema } from "./schema.ts";

/** A resource as JSON, without `id`, `meta` and `schemas`; extensions stand under their URN. */
export type ScimDocument = Record<string, unknown>;

/** Characters of one text, and values of one list. */
export const textMax = 1_024;
export const valuesMax = 100;
/** Characters of a whole document: a page of 200 is read at once. */
const documentMax = 65_536;

/**
 * The document that a client sent, in the form in which it is stored: known attributes under their own names, texts and
 * booleans as such ("True" is true), a single value of a list as a list. What is unknown, read-only or null is left
 * out. Throws `scim_invalid` (`invalidValue`, `invalidSyntax`).
 */
export function readDocument(resource: Resource, body: unknown): ScimDocument {
  if (!hasFields(body)) throw scimInvalid("invalidSyntax", "The body must be a JSON object.");
  const document = readComplex([...resource.schema.attributes, externalId], body, "");
  for (const extension of resource.extensions) {
    const sent = valueAt(body, extension.id);
    if (sent === undefined || sent === null) continue;
    if (!hasFields(sent)) throw scimInvalid("invalidValue", `"${extension.id}" must be an object.`);
    const read = readComplex(extension.attributes, sent, "");
    if (Object.keys(read).length > 0) document[extension.id] = read;
  }
  return document;
}

/** Throws `scim_invalid` (`invalidValue`) when an attribute is missing that each resource has, or all are too long. */
export function requireComplete({ schema, kind }: Resource, document: ScimDocument): void {
  for (const { name, required } of schema.attributes) {
    if (required && (document[name] === undefined || document[name] === "")) {
      throw scimInvalid("invalidValue", `A ${kind} needs "${name}".`);
    }
  }
  if (JSON.stringify(document).length > documentMax) {
    throw scimInvalid("invalidValue", `The attributes of a ${kind} may have ${documentMax} characters.`);
  }
}

/** The value of one attribute in its stored form; undefined for none. Throws as readDocument. */
export function readValue(attribute: Attribute, value: unknown, label: string): unknown {
  if (value === null || value === undefined) return undefined;
  if (!attribute.multiValued) return readOne(attribute, value, label);
  const sent = Array.isArray(value) ? value : [value];
  if (sent.length > valuesMax) throw scimInvalid("invalidValue", `"${label}" has more than ${valuesMax} values.`);
  const values = sent.map((one) => readOne(attribute, one, label)).filter((one) => one !== undefined);
  return values.length === 0 ? undefined : onePrimary(unrepeated(values));
}

function readOne(attribute: Attribute, value: unknown, label: string): unknown {
  switch (attribute.type) {
    case "boolean":
      return readBoolean(value, label);
    case "complex": {
      const { subAttributes = [] } = attribute;
      // Entra sends the manager as a plain text, others the values of a list.
      const object = typeof value === "string" && attributeOf(subAttributes, "value") ? { value } : value;
      if (!hasFields(object)) throw scimInvalid("invalidValue", `"${label}" must be an object.`);
      const read = readComplex(subAttributes, object, `${label}.`);
      return Object.keys(read).length === 0 ? undefined : read;
    }
    case "string":
    case "dateTime":
    case "reference":
      return readText(value, label);
    default:
      return attribute.type satisfies never;
  }
}

function readComplex(attributes: readonly Attribute[], sent: Record<string, unknown>, prefix: string): ScimDocument {
  const read: ScimDocument = {};
  for (const attribute of attributes) {
    if (attribute.mutability === "readOnly") continue;
    const value = readValue(attribute, valueAt(sent, attribute.name), prefix + attribute.name);
    if (value !== undefined) read[attribute.name] = value;
  }
  return read;
}

function readBoolean(value: unknown, label: string): boolean {
  if (typeof value === "boolean") return value;
  const text = typeof value === "string" ? value.trim().toLowerCase() : "";
  if (text === "true" || text === "false") return text === "true";
  throw scimInvalid("invalidValue", `"${label}" must be true or false.`);
}

function readText(value: unknown, label: string): string | undefined {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string") throw scimInvalid("invalidValue", `"${label}" must be a text.`);
  if (longerThan(text, textMax)) throw scimInvalid("invalidValue", `"${label}" is longer than ${textMax} characters.`);
  return text === "" ? undefined : storableText(text);
}

/** Repeats are one value (RFC 7643, section 2.4). */
function unrepeated(values: readonly unknown[]): unknown[] {
  const seen = new Set<string>();
  return values.filter((value) => {
    const key = JSON.stringify(value);
    return !seen.has(key) && seen.add(key);
  });
}

/** Of several primary values the last stays so: a client that adds one means it. */
function onePrimary(values: readonly unknown[]): unknown[] {
  const isPrimary = (value: unknown) => hasFields(value) && value.primary === true;
  const last = values.findLastIndex(isPrimary);
  return values.map((value, at) =>
    isPrimary(value) && at !== last ? { ...(value as ScimDocument), primary: false } : value,
  );
}

/** A member of an object by its name, whatever its case; its own, never one of its prototype. */
export function valueAt(object: Record<string, unknown>, name: string): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  const wanted = name.toLowerCase();
  const found = Object.keys(object).find((key) => key.toLowerCase() === wanted);
  return found === undefined ? undefined : object[found];
}

/** The schema of a resource that a URN names, whatever its case. */
export function schemaOf({ schema, extensions }: Resource, urn: string | null): Schema | undefined {
  if (urn === null) return schema;
  return [schema, ...extensions].find(({ id }) => id.toLowerCase() === urn);
}

/** URNs of the schemas that a document of a resource has. */
export function schemasOf(resource: Resource, document: ScimDocument): string[] {
  const used = resource.extensions.filter(({ id }) => document[id] !== undefined);
  return [resource.schema.id, ...used.map(({ id }) => id)];
}

export const userResource: Resource = resources.User;
export const groupResource: Resource = resources.Group;
