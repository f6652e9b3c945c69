import { type Query, sql } from "@muster/db";
import { scimInvalid, shown } from "../../rules/scim/errors.ts";
import type { AttributePath, Filter } from "../../rules/scim/filter.ts";
import { enterpriseUrn, groupUrn, type ResourceKind, userUrn } from "../../rules/scim/schema.ts";

type Column =
  | { type: "text"; column: Query; caseExact?: true }
  | { type: "boolean" | "time"; column: Query }
  /** Parts of a list in the document, each value of which is tried. */
  | { type: "list"; column: Query; parts: readonly string[] }
  /** A set of ids. */
  | { type: "members" };

const ofDocument = (...names: [string] | [string, string]): Query =>
  names.length === 1
    ? sql`lower(t.document->>${names[0]}::text)`
    : sql`lower(t.document->${names[0]}::text->>${names[1]}::text)`;
const inDocument = (...names: [string] | [string, string]): Column => ({ type: "text", column: ofDocument(...names) });
const times: Record<string, Column> = {
  "meta.created": { type: "time", column: sql`t.created_at` },
  "meta.lastmodified": { type: "time", column: sql`t.updated_at` },
};

/** What filters and orders may name; the rest is refused, never answered unfiltered. */
const columns: Record<ResourceKind, Readonly<Record<string, Column>>> = {
  User: {
    ...times,
    id: { type: "text", column: sql`t.user_id::text` },
    username: { type: "text", column: sql`t.user_name_key` },
    externalid: { type: "text", column: sql`t.external_id`, caseExact: true },
    active: { type: "boolean", column: sql`t.active` },
    displayname: inDocument("displayName"),
    title: inDocument("title"),
    "name.familyname": inDocument("name", "familyName"),
    "name.givenname": inDocument("name", "givenName"),
    emails: { type: "list", column: sql`t.document->'emails'`, parts: ["value", "type", "primary", "display"] },
    [`${enterpriseUrn.toLowerCase()}:employeenumber`]: inDocument(enterpriseUrn, "employeeNumber"),
    [`${enterpriseUrn.toLowerCase()}:department`]: inDocument(enterpriseUrn, "department"),
  },
  Group: {
    ...times,
    id: { type: "text", column: sql`t.id::text` },
    displayname: { type: "text", column: sql`t.display_name_key` },
    externalid: { type: "text", column: sql`t.external_id`, caseExact: true },
    members: { type: "members" },
  },
};

const cores: readonly string[] = [userUrn.toLowerCase(), groupUrn.toLowerCase()];

/** The name of an attribute in `columns`: without the URN of its own core schema. */
function keyOf({ urn, name }: AttributePath): string {
  return urn === null || cores.includes(urn) ? name : `${urn}:${name}`;
}

function columnOf(kind: ResourceKind, path: AttributePath): { column: Column; part: string | null } {
  const key = keyOf(path);
  const served = columns[kind];
  const whole = path.sub === null ? key : `${key}.${path.sub}`;
  const own = Object.hasOwn(served, whole) ? served[whole] : undefined;
  if (own) return { column: own, part: null };
  const list = Object.hasOwn(served, key) ? served[key] : undefined;
  if (list?.type === "list" && list.parts.includes(path.sub ?? "")) return { column: list, part: path.sub };
  if (list?.type === "members" && path.sub === "value") return { column: list, part: null };
  throw scimInvalid("invalidFilter", `A ${kind} cannot be filtered by ${shown(whole)}.`);
}

/** The condition of a filter on rows `t`. Throws `scim_invalid` (`invalidFilter`) for other attributes and values. */
export function filterCondition(kind: ResourceKind, filter: Filter): Query {
  switch (filter.kind) {
    case "and":
    case "or": {
      const parts = filter.of.map((one) => sql`(${filterCondition(kind, one)})`);
      const joined = (a: Query, b: Query) => (filter.kind === "and" ? sql`${a} AND ${b}` : sql`${a} OR ${b}`);
      return parts.reduce(joined);
    }
    case "not":
      return sql`NOT coalesce(${filterCondition(kind, filter.of)}, false)`;
    case "present": {
      const { column, part } = columnOf(kind, filter.path);
      return isPresent(column, part);
    }
    case "compare": {
      const { column, part } = columnOf(kind, filter.path);
      return compare(column, part, filter);
    }
    case "values":
      return ofValues(kind, filter);
    default:
      return filter satisfies never;
  }
}

function isPresent(column: Column, part: string | null): Query {
  switch (column.type) {
    case "list":
      return sql`EXISTS (SELECT FROM jsonb_array_elements(${column.column}) e WHERE e->>${part ?? "value"}::text <> '')`;
    case "members":
      return sql`EXISTS (SELECT FROM scim_members m WHERE m.group_id = t.id)`;
    case "text":
      return sql`${column.column} <> ''`;
    case "boolean":
    case "time":
      return sql`true`;
    default:
      return column satisfies never;
  }
}

type Comparison = Extract<Filter, { kind: "compare" }>;

function compare(column: Column, part: string | null, filter: Comparison): Query {
  switch (column.type) {
    case "text":
      return compareText(column.column, filter, column.caseExact === true);
    case "boolean":
      return compareBoolean(column.column, filter);
    case "time":
      return compareTime(column.column, filter);
    case "list": {
      const one = compareText(sql`lower(e->>${part ?? "value"}::text)`, filter, false);
      return sql`EXISTS (SELECT FROM jsonb_array_elements(${column.column}) e WHERE ${one})`;
    }
    case "members": {
      if (filter.operator !== "eq") throw scimInvalid("invalidFilter", "Members are compared with eq only.");
      return sql`EXISTS (SELECT FROM scim_members m WHERE m.group_id = t.id AND m.user_id::text = ${textOf(filter, false)})`;
    }
    default:
      return column satisfies never;
  }
}

/** `emails[type eq "work" and value co "x"]`: one value matches all of it. */
function ofValues(kind: ResourceKind, { path, of }: Extract<Filter, { kind: "values" }>): Query {
  const { column } = columnOf(kind, { ...path, sub: path.sub ?? (keyOf(path) === "emails" ? "value" : null) });
  if (column.type === "members") return filterCondition(kind, underMembers(of));
  if (column.type !== "list") throw scimInvalid("invalidFilter", `${shown(path.name)} is no list.`);
  return sql`EXISTS (SELECT FROM jsonb_array_elements(${column.column}) e WHERE ${ofOne(column, of)})`;
}

function underMembers(filter: Filter): Filter {
  if (filter.kind === "compare" && filter.path.name === "value") {
    return { ...filter, path: { urn: null, name: "members", sub: "value" } };
  }
  if (filter.kind === "or" || filter.kind === "and") return { ...filter, of: filter.of.map(underMembers) };
  throw scimInvalid("invalidFilter", "Members are compared by their value only.");
}

function ofOne(list: Extract<Column, { type: "list" }>, filter: Filter): Query {
  switch (filter.kind) {
    case "and":
    case "or": {
      const parts = filter.of.map((one) => sql`(${ofOne(list, one)})`);
      return parts.reduce((a, b) => (filter.kind === "and" ? sql`${a} AND ${b}` : sql`${a} OR ${b}`));
    }
    case "not":
      return sql`NOT coalesce(${ofOne(list, filter.of)}, false)`;
    case "present":
      return sql`e->>${partOf(list, filter.path)}::text <> ''`;
    case "compare":
      return compareText(sql`lower(e->>${partOf(list, filter.path)}::text)`, filter, false);
    case "values":
      throw scimInvalid("invalidFilter", "A filter of values holds no other one.");
    default:
      return filter satisfies never;
  }
}

function partOf({ parts }: Extract<Column, { type: "list" }>, { name }: AttributePath): string {
  if (parts.includes(name)) return name;
  throw scimInvalid("invalidFilter", `Values cannot be filtered by ${shown(name)}.`);
}

function textOf({ value }: Comparison, caseExact: boolean): string {
  const text = String(value);
  return caseExact ? text : text.toLowerCase();
}

function compareText(column: Query, filter: Comparison, caseExact: boolean): Query {
  const { operator, value } = filter;
  if (value === null) {
    if (operator === "eq") return sql`${column} IS NULL`;
    if (operator === "ne") return sql`${column} IS NOT NULL`;
    throw scimInvalid("invalidFilter", `Nothing can be compared with null by ${operator}.`);
  }
  const text = textOf(filter, caseExact);
  switch (operator) {
    case "eq":
      return sql`${column} = ${text}`;
    case "ne":
      return sql`${column} IS DISTINCT FROM ${text}::text`;
    case "co":
      return sql`strpos(${column}, ${text}) > 0`;
    case "sw":
      return sql`starts_with(${column}, ${text})`;
    case "ew":
      return sql`right(${column}, length(${text})) = ${text}`;
    case "gt":
      return sql`${column} > ${text}`;
    case "ge":
      return sql`${column} >= ${text}`;
    case "lt":
      return sql`${column} < ${text}`;
    case "le":
      return sql`${column} <= ${text}`;
    default:
      return operator satisfies never;
  }
}

function compareBoolean(column: Query, { operator, value }: Comparison): Query {
  const text = String(value).toLowerCase();
  if ((operator !== "eq" && operator !== "ne") || (text !== "true" && text !== "false")) {
    throw scimInvalid("invalidFilter", "A boolean is compared with eq or ne, to true or false.");
  }
  const wanted = text === "true";
  return operator === "eq" ? sql`${column} = ${wanted}` : sql`${column} <> ${wanted}`;
}

function compareTime(column: Query, { operator, value }: Comparison): Query {
  const at = typeof value === "string" ? new Date(value) : new Date(Number.NaN);
  const year = at.getUTCFullYear();
  if (!(year >= 1 && year <= 9_999)) throw scimInvalid("invalidFilter", `${shown(value)} is no time.`);
  switch (operator) {
    case "eq":
      return sql`${column} = ${at}`;
    case "ne":
      return sql`${column} <> ${at}`;
    case "gt":
      return sql`${column} > ${at}`;
    case "ge":
      return sql`${column} >= ${at}`;
    case "lt":
      return sql`${column} < ${at}`;
    case "le":
      return sql`${column} <= ${at}`;
    case "co":
    case "sw":
    case "ew":
      throw scimInvalid("invalidFilter", `Times cannot be compared by ${operator}.`);
    default:
      return operator satisfies never;
  }
}

/** The order of a list by an attribute; by creation without one. Ties are broken by id. */
export function orderOf(kind: ResourceKind, path: AttributePath | null, descending: boolean): Query {
  const id = kind === "User" ? sql`t.user_id` : sql`t.id`;
  if (path === null) return descending ? sql`t.created_at DESC, ${id} DESC` : sql`t.created_at, ${id}`;
  const { column } = columnOf(kind, path);
  if (column.type === "list" || column.type === "members") {
    throw scimInvalid("invalidValue", `Lists cannot be sorted by ${shown(path.name)}.`);
  }
  return descending ? sql`${column.column} DESC NULLS LAST, ${id} DESC` : sql`${column.column} NULLS LAST, ${id}`;
}
