import { encodeCursor } from "@muster/kit";
import { toJSONSchema, type z } from "zod";
import { bindCursor, type ListOf } from "../../src/http/list-cursor.ts";
import type { Route } from "../../src/route/route.ts";
import { nameSentence } from "../../src/routes/fields/schemas.ts";

type Property = {
  /** Several for a boolean or number that may be null. */
  type?: string | string[];
  anyOf?: Property[];
  enum?: unknown[];
  maxLength?: number;
  maxItems?: number;
  format?: string;
  pattern?: string;
  description?: string;
  properties?: object;
};
type ObjectSchema = { properties?: Record<string, Property>; required?: string[] };

/** A body that must be refused, as text, and how it is sent. */
export type BadInput = {
  what: string;
  body?: string;
  query?: string;
  headers?: Record<string, string>;
  /** Code of the refusal; any when absent. */
  code?: string;
  /** Some routes take it: they answer, but not with a 5xx. */
  mayBeTaken?: boolean;
};

const kib = 1024;

function schemaOf(schema: z.ZodType | undefined): ObjectSchema {
  return schema ? (toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as ObjectSchema) : {};
}

const typesOf = (property: Property): string[] =>
  property.anyOf ? property.anyOf.flatMap(typesOf) : [property.type ?? []].flat();

const ofType: Record<string, unknown> = {
  string: "text",
  number: 7,
  boolean: true,
  array: [{}],
  object: { a: 1 },
  null: null,
};

/** Values of every type that a field does not take. */
function wrongTypes(property: Property): unknown[] {
  const taken = typesOf(property).map((type) => (type === "integer" ? "number" : type));
  return Object.entries(ofType).flatMap(([type, value]) => (taken.includes(type) ? [] : [value]));
}

const limitOf = (property: Property, limit: "maxLength" | "maxItems"): number | undefined =>
  property[limit] ?? property.anyOf?.map((one) => limitOf(one, limit)).find((n) => n !== undefined);

/** Free texts of a schema with the most characters that each may have; one that has a pattern is in ASCII. */
export function boundsOf(schema: z.ZodType | undefined): { field: string; most: number }[] {
  return Object.entries(schemaOf(schema).properties ?? {}).flatMap(([field, property]) => {
    const most = limitOf(property, "maxLength");
    const isFree = [property, ...(property.anyOf ?? [])].every((each) => !(each.pattern || each.format || each.enum));
    return most !== undefined && isFree && field !== "cursor" ? [{ field, most }] : [];
  });
}

/** One of each kind that cannot be seen, or breaks the line (libs/kit, name.test.ts has them all). */
const notInNames = {
  "a line break": "\n",
  "an escape": "\u001b",
  "a line separator": "\u2028",
  "a zero-width space": "\u200b",
  "a zero-width joiner": "\u200d",
  "an override of direction": "\u202e",
  "a byte order mark": "\ufeff",
};

/** What a field refuses besides other types. */
function outOfBounds(property: Property): [what: string, value: unknown][] {
  const types = typesOf(property);
  const found: [string, unknown][] = [];
  if (types.includes("string")) {
    found.push(["too long", "x".repeat((limitOf(property, "maxLength") ?? 70 * kib) + 1)]);
    found.push(["with NUL", "a\0b"], ["with half a surrogate pair", "a\ud800"]);
  }
  if (property.description === nameSentence) {
    for (const [what, character] of Object.entries(notInNames)) found.push([`with ${what}`, `a${character}b`]);
  }
  if (types.includes("array"))
    found.push(["too many", Array((limitOf(property, "maxItems") ?? 200_000) + 1).fill("x")]);
  if (types.includes("integer")) found.push(["a fraction", 1.5], ["too large", 2 ** 53], ["below nought", -1]);
  if (types.includes("object")) found.push(["deep", deep(100)], ["with NUL inside", { a: ["\0"] }]);
  return found;
}

/** An object of the client's own making. */
const isFree = (property: Property): boolean =>
  property.anyOf?.some(isFree) ?? (property.type === "object" && property.properties === undefined);

/** Numbers that JSON.parse changes. */
const changed = ["12345678901234567890", "0.12345678901234567890", "1e-400"];

const ofUnknownMembers: ReadonlySet<string> = new Set([
  "deep JSON",
  "__proto__",
  "__proto__ inside",
  "NUL in an unknown field",
  "half a surrogate pair in a key",
]);

/** Everything that a row's body must refuse, made from its schema and one valid body. */
export function badBodies(
  { body: schema, opaque, raw }: Pick<Route, "body" | "opaque" | "raw">,
  valid: Record<string, unknown>,
  limitBytes: number,
): BadInput[] {
  const text = JSON.stringify(valid);
  const inputs: BadInput[] = [
    { what: "malformed JSON", body: `${text.slice(0, -1)},` },
    { what: "half a body", body: text.slice(0, Math.max(1, text.length >> 1)) },
    {
      what: "broken UTF-8 in a form",
      body: "a=b&c=d",
      headers: { "content-type": "application/x-www-form-urlencoded" },
    },
    { what: "JSON as text", body: text, headers: { "content-type": "text/plain" } },
    { what: "JSON said to be gzip", body: text, headers: { "content-encoding": "gzip" } },
    { what: "beyond its limit", body: JSON.stringify({ ...valid, filler: "x".repeat(limitBytes) }) },
    { what: "deep JSON", body: JSON.stringify({ ...valid, deep: deep(1_000) }) },
    { what: "__proto__", body: `{"__proto__":{"a":1},${text.slice(1)}`.replace(",}", "}") },
    { what: "__proto__ inside", body: `{"unknown":{"__proto__":{}},${text.slice(1)}`.replace(",}", "}") },
    { what: "NUL in an unknown field", body: JSON.stringify({ ...valid, unknown: "\0" }) },
    { what: "half a surrogate pair in a key", body: JSON.stringify({ ...valid, "\ud800": 1 }) },
  ];
  // What is stored is checked by the service behind the row, which ignores unknown members.
  if (raw !== undefined) return inputs.filter(({ what }) => !ofUnknownMembers.has(what));
  if (!schema) return inputs;
  for (const whole of ["null", "[]", '"text"', "7", "true"]) inputs.push({ what: `${whole} as body`, body: whole });
  const { properties = {}, required = [] } = schemaOf(schema);
  const withField = (field: string, value: unknown) => JSON.stringify({ ...valid, [field]: value });
  for (const field of required) inputs.push({ what: `no ${field}`, body: withField(field, undefined) });
  for (const [field, property] of Object.entries(properties)) {
    for (const value of wrongTypes(property)) {
      inputs.push({ what: `${field} = ${JSON.stringify(value)}`, body: withField(field, value) });
    }
    for (const [what, value] of outOfBounds(property)) {
      inputs.push({ what: `${field} ${what}`, body: withField(field, value) });
    }
    for (const number of isFree(property) && field !== opaque ? changed : []) {
      const body = withField(field, { a: ["number"] }).replace('"number"', number);
      inputs.push({ what: `${field} with ${number}`, body, code: "validation_failed" });
    }
  }
  return inputs;
}

/** Fields of a list that are clamped or fall back to a default. */
const lenient = ["page", "limit"];

/** Names that no row knows; some are members of every object. */
const unknownParameters = ["unknown", "ORGID", "constructor", "__proto__", "limit[]", "%C3%A9"];

/** Queries that a row must refuse; a row without a caller ignores what it does not know. */
export function badQueries({ query, access }: Pick<Route, "query" | "access">, list: ListOf): BadInput[] {
  const { properties = {} } = schemaOf(query);
  const unknown = access.auth === "none" ? [] : unknownParameters;
  const code = "unknown_parameter";
  return [
    ...unknown.map((name) => ({ what: `unknown parameter ${name}`, query: `${name}=x`, code })),
    ...badValuesOf(properties, list),
  ];
}

function badValuesOf(properties: Record<string, Property>, list: ListOf): BadInput[] {
  return Object.entries(properties).flatMap(([field, property]) => {
    const isBound = limitOf(property, "maxLength") !== undefined;
    const checks =
      property.enum || property.format || property.pattern || property.anyOf?.some((p) => p.format || p.pattern);
    const inputs: BadInput[] = [{ what: `${field} with NUL`, query: `${field}=a%00b` }];
    if (isBound) inputs.push({ what: `${field} too long`, query: `${field}=${"x".repeat(8_000)}` });
    if (checks) inputs.push({ what: `${field} = nonsense`, query: `${field}=nonsense` });
    const takesMany = typesOf(property).includes("array");
    if (!takesMany) inputs.push({ what: `${field} twice`, query: `${field}=1&${field}=2` });
    if (field === "cursor")
      inputs.push({ what: "cursor = nonsense", query: "cursor=nonsense" }, ...forgedCursors(list));
    return lenient.includes(field) ? inputs.filter(({ what }) => !what.endsWith("nonsense")) : inputs;
  });
}

/** Times that Date.parse understands and PostgreSQL does not, or that it understands in another way. */
const laxTimes = [
  "5",
  "2026",
  "2026-02-30T00:00:00.000Z",
  "0000-01-01T00:00:00.000Z",
  "Jan 1 2026 (x)",
  "+275760-09-13",
];

/**
 * Cursors of every shape that lists have, with a time that is none; a list by names takes it for a name. And cursors of
 * another list, filter and organization.
 */
function forgedCursors(list: ListOf): BadInput[] {
  const id = "018f6f3e-7a2b-7c4d-9e5f-0123456789ab";
  const forged = laxTimes
    .flatMap((time) => [[time], [time, id], [time, id, "0"], ["true", time, id]])
    .map((parts) => ({
      what: `cursor of ${parts.join(", ")}`,
      query: `cursor=${bindCursor(list, Buffer.from(JSON.stringify(parts)).toString("base64url"))}`,
      mayBeTaken: true,
    }));
  const others: [string, ListOf][] = [
    ["another list", { ...list, row: { path: "/another" } }],
    ["another record's list", { ...list, params: { ...list.params, id: "another" } }],
    ["another filter", { ...list, query: { ...list.query, filter: "another" } }],
    ["another organization", { ...list, caller: { ...list.caller, orgId: id } }],
  ];
  const foreign = others.map(([what, other]) => ({
    what: `cursor of ${what}`,
    query: `cursor=${bindCursor(other, encodeCursor([new Date(), id]))}`,
    code: "cursor_mismatch",
  }));
  return [...forged, ...foreign];
}

/** Ids that are none. */
export const badIds = ["x", "0", "%20", "a%00b", "null", "'", "%F0%28%8C%28", "x".repeat(300), "..%2Fpartners"];

function deep(levels: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++) value = { a: value };
  return value;
}
