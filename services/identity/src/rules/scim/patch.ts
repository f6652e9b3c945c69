import { fieldsOf, hasFields } from "@muster/kit";
import { readDocument, readValue, requireComplete, type ScimDocument, schemaOf, valueAt } from "./document.ts";
import { scimInvalid, shown } from "./errors.ts";
import { type Filter, type PatchPath, parsePatchPath } from "./filter.ts";
import { equalities, matchesValue } from "./matches.ts";
import { type Attribute, attributeOf, externalId, type Resource } from "./schema.ts";

export type PatchOperation = {
  op: "add" | "replace" | "remove";
  /** Null: the whole resource. */
  path: PatchPath | null;
  pathText: string;
  value: unknown;
};

const operationsMax = 1_000;

/**
 * The operations of a PATCH body, as clients really send them: `op` and the names of members in any case. Throws
 * `scim_invalid` (`invalidSyntax`, `invalidPath`).
 */
export function readOperations(body: unknown): PatchOperation[] {
  const sent = hasFields(body) ? valueAt(body, "Operations") : undefined;
  if (!Array.isArray(sent)) throw scimInvalid("invalidSyntax", 'A PATCH needs "Operations", a list.');
  if (sent.length > operationsMax) {
    throw scimInvalid("tooMany", `A PATCH may have ${operationsMax} operations; send more in further requests.`);
  }
  return sent.flatMap(readOperation);
}

function readOperation(sent: unknown): PatchOperation[] {
  if (!hasFields(sent)) throw scimInvalid("invalidSyntax", "Each operation must be an object.");
  const named = valueAt(sent, "op");
  const op = typeof named === "string" ? named.toLowerCase() : "";
  if (op !== "add" && op !== "replace" && op !== "remove") {
    throw scimInvalid("invalidSyntax", `"op" must be add, replace or remove, not ${shown(named)}.`);
  }
  const path = valueAt(sent, "path") ?? "";
  if (typeof path !== "string") throw scimInvalid("invalidPath", '"path" must be a text.');
  const value = valueAt(sent, "value");
  if (path.trim() !== "") return [{ op, path: parsePatchPath(path), pathText: path, value }];
  if (op === "remove") throw scimInvalid("noTarget", 'A "remove" needs a "path".');
  if (!hasFields(value)) throw scimInvalid("invalidValue", 'Without a "path", "value" must be an object.');
  // Names of members may be paths themselves: {"name.givenName": "Ada"}.
  return Object.entries(value)
    .filter(([name]) => !leftOut.includes(name.toLowerCase()))
    .map(([name, one]) => ({ op, path: parsePatchPath(name), pathText: name, value: one }));
}

/** Okta repeats the id of what it renames. */
const leftOut: readonly string[] = ["schemas", "id", "meta", "groups"];
/** Of RFC 7643, section 4.1, and not stored. */
const unstored: readonly string[] = [
  "password",
  "profileurl",
  "ims",
  "photos",
  "entitlements",
  "roles",
  "x509certificates",
];

/**
 * The document after all operations, or none: it is validated as a whole at the end (RFC 7644, section 3.5.2). Throws
 * `scim_invalid`.
 */
export function applyPatch(
  resource: Resource,
  document: ScimDocument,
  operations: readonly PatchOperation[],
): ScimDocument {
  const patched = structuredClone(document);
  for (const operation of operations) {
    applyOne(resource, patched, operation);
  }
  const read = readDocument(resource, patched);
  requireComplete(resource, read);
  return read;
}

function applyOne(resource: Resource, document: ScimDocument, operation: PatchOperation): void {
  const { path, pathText, op, value } = operation;
  const schema = path && schemaOf(resource, path.urn);
  if (!path || !schema) throw scimInvalid("invalidPath", `No attribute is called ${shown(pathText)}.`);
  const isExtension = schema !== resource.schema;
  const at = isExtension ? extensionOf(document, schema.id) : document;
  if (path.name === null) {
    applyWhole(resource, document, operation, schema.id, isExtension);
    return;
  }
  const attributes = isExtension ? schema.attributes : [...schema.attributes, externalId];
  const attribute = attributeOf(attributes, path.name);
  if (attribute === undefined) {
    if (["id", "meta"].includes(path.name)) throw readOnly(pathText);
    if (!isExtension && unstored.includes(path.name)) return;
    throw scimInvalid("invalidPath", `No attribute is called ${shown(pathText)}.`);
  }
  if (attribute.mutability === "readOnly") throw readOnly(pathText);
  if (op === "remove" && attribute.required) {
    throw scimInvalid("mutability", `"${attribute.name}" cannot be removed: each ${resource.kind} has one.`);
  }
  if (attribute.multiValued) applyToList(attribute, at, operation, path);
  else applyToOne(attribute, at, { op, pathText, value }, path);
  if (isExtension && Object.keys(at).length === 0) delete document[schema.id];
}

/** A path that is a schema's URN means all of its attributes. */
function applyWhole(
  resource: Resource,
  document: ScimDocument,
  { op, pathText, value }: PatchOperation,
  urn: string,
  isExtension: boolean,
): void {
  if (op === "remove" || value === null) {
    if (!isExtension) throw scimInvalid("invalidPath", `${shown(pathText)} cannot be removed.`);
    delete document[urn];
    return;
  }
  if (!hasFields(value)) throw scimInvalid("invalidValue", `"${shown(pathText)}" must be an object.`);
  for (const [name, one] of Object.entries(value)) {
    if (leftOut.includes(name.toLowerCase())) continue;
    const path = parsePatchPath(`${urn}:${name}`);
    applyOne(resource, document, { op, path, pathText: name, value: one });
  }
}

function extensionOf(document: ScimDocument, urn: string): ScimDocument {
  const extension: ScimDocument = { ...fieldsOf(document[urn]) };
  document[urn] = extension;
  return extension;
}

function applyToOne(
  attribute: Attribute,
  at: ScimDocument,
  { op, pathText, value }: Pick<PatchOperation, "op" | "pathText" | "value">,
  { sub, filter }: PatchPath,
): void {
  const { name } = attribute;
  if (filter !== null) throw scimInvalid("invalidPath", `"${name}" is no list: it takes no filter.`);
  if (sub === null) {
    const read = op === "remove" ? undefined : readValue(attribute, value, name);
    if (read === undefined) delete at[name];
    else at[name] = hasFields(read) && hasFields(at[name]) && op === "add" ? { ...at[name], ...read } : read;
    return;
  }
  const part = partOf(attribute, sub, pathText);
  const object: ScimDocument = { ...fieldsOf(at[name]) };
  const read = op === "remove" ? undefined : readValue(part, value, `${name}.${part.name}`);
  if (read === undefined) delete object[part.name];
  else object[part.name] = read;
  if (Object.keys(object).length === 0) delete at[name];
  else at[name] = object;
}

function partOf({ name, subAttributes = [] }: Attribute, sub: string, pathText: string): Attribute {
  const part = attributeOf(subAttributes, sub);
  if (!part) throw scimInvalid("invalidPath", `"${name}" has no part that is called ${shown(sub)}.`);
  if (part.mutability === "readOnly") throw readOnly(pathText);
  return part;
}

function applyToList(attribute: Attribute, at: ScimDocument, operation: PatchOperation, path: PatchPath): void {
  const { name } = attribute;
  const before: unknown[] = Array.isArray(at[name]) ? at[name] : [];
  const after = listAfter(attribute, before, operation, path);
  const read = readValue(attribute, after, name);
  if (read === undefined) delete at[name];
  else at[name] = read;
}

function listAfter(
  attribute: Attribute,
  before: readonly unknown[],
  operation: PatchOperation,
  path: PatchPath,
): readonly unknown[] {
  const { op, value } = operation;
  if (path.filter !== null || path.sub !== null) return changedValues(attribute, before, operation, path);
  const read = readValue(attribute, value, attribute.name);
  const sent: readonly unknown[] = Array.isArray(read) ? read : [];
  if (op === "replace") return sent;
  if (op === "add") return [...before, ...sent];
  // Some clients name the values to remove instead of a filter.
  return sent.length === 0 ? [] : before.filter((one) => !sent.some((other) => isSame(one, other)));
}

/** Values of one list are the same when their `value` is, and they name no other type. */
function isSame(one: unknown, other: unknown): boolean {
  if (!hasFields(one) || !hasFields(other)) return one === other;
  if (one.value === undefined && other.value === undefined) return JSON.stringify(one) === JSON.stringify(other);
  return one.value === other.value && (other.type === undefined || one.type === other.type);
}

/** The values of a list after an operation on those that a filter selects; without one, on all. */
function changedValues(
  attribute: Attribute,
  before: readonly unknown[],
  { op, pathText, value }: PatchOperation,
  { filter, sub }: PatchPath,
): unknown[] {
  const isMeant = (one: unknown) => filter === null || matchesValue(filter, one);
  const part = sub === null ? null : partOf(attribute, sub, pathText);
  if (op === "remove") {
    if (part === null) return before.filter((one) => !isMeant(one));
    return before.map((one) => (isMeant(one) ? without(one, part.name) : one));
  }
  const change = (one: unknown): unknown => {
    if (part !== null) {
      const read = readValue(part, value, `${attribute.name}.${part.name}`);
      return read === undefined ? without(one, part.name) : { ...(one as object), [part.name]: read };
    }
    const read = readValue({ ...attribute, ...single }, value, attribute.name);
    return hasFields(read) ? { ...(one as object), ...read } : read;
  };
  if (before.some(isMeant)) {
    const changed = before.map((one) => (isMeant(one) ? change(one) : one));
    const isNowPrimary = before.some((one, at) => isMeant(one) && isPrimary(changed[at]));
    return isNowPrimary ? changed.map((one, at) => (isMeant(before[at]) ? one : without(one, "primary"))) : changed;
  }
  // Only an "add" makes a value (RFC 7644, sections 3.5.2.1 and 3.5.2.3).
  const made = op === "add" ? madeBy(filter) : null;
  if (made === null) throw scimInvalid("noTarget", `No value matches ${shown(pathText)}.`);
  return [...before, change(named(attribute, made))];
}

const madeBy = (filter: Filter | null) => (filter === null ? {} : equalities(filter));

const isPrimary = (one: unknown) => hasFields(one) && one.primary === true;

const single = { multiValued: undefined } as unknown as { multiValued?: true };

/** The parts that a filter fixes, under their own names. */
function named({ subAttributes = [] }: Attribute, parts: Record<string, unknown>): ScimDocument {
  const entries = Object.entries(parts).flatMap(([name, value]) => {
    const part = attributeOf(subAttributes, name);
    return part ? [[part.name, value] as const] : [];
  });
  return Object.fromEntries(entries);
}

function without(one: unknown, name: string): unknown {
  if (!hasFields(one)) return one;
  const { [name]: _, ...rest } = one;
  return rest;
}

const readOnly = (pathText: string) => scimInvalid("mutability", `${shown(pathText)} is read-only.`);
