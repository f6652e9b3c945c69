import { type Category, prefixesOf } from "../rules/category.ts";
import { containsPattern, jsonPatterns } from "../rules/contains.ts";
import type { LogFilter } from "../rules/log-filter.ts";
import type { Position, Range } from "../rules/range.ts";

/** Whether the filter uses the rows' actions. */
export const filtersActions = (f: LogFilter): boolean =>
  Boolean(f.action || f.category || f.excludeActions.length > 0 || f.actions.length > 0);

/** Whether the filter uses more than time and action of rows. */
export const filtersMore = (f: LogFilter): boolean =>
  Boolean(
    f.user || f.resource || f.query || f.actorId || f.resourceId || f.resourceType || f.result || filtersOrigin(f),
  );

const filtersOrigin = (f: LogFilter): boolean =>
  Boolean(f.actorType || f.target || f.ipAddress || f.network || f.sessionId);

/** Filters that no index of a whole range answers: every row has to be scanned. */
export const scansRows = (f: LogFilter): boolean => filtersActions(f) || filtersMore(f);

/** Values of a statement that is being put together: each gets the next `$n`. */
export class Values {
  readonly list: unknown[] = [];

  add(value: unknown): string {
    return `$${this.list.push(value)}`;
  }
}

const all = (parts: readonly string[]) => (parts.length > 0 ? parts.join(" AND ") : "true");

/**
 * Rows in time, after a position and without targets of excluded types: what a walk along the ordered indexes answers,
 * since few rows have targets.
 */
export function boundsText(values: Values, f: LogFilter, after: Position | null): string {
  const parts: string[] = [];
  if (f.from) parts.push(`l.timestamp >= ${values.add(f.from)}`);
  if (f.to) parts.push(`l.timestamp <= ${values.add(f.to)}`);
  if (after) {
    parts.push(`(l.timestamp, l.id) < (${values.add(after.timestamp)}::timestamptz, ${values.add(after.id)}::uuid)`);
  }
  for (const type of f.excludeTargetTypes) {
    parts.push(`NOT coalesce(l.targets @> ${values.add(JSON.stringify([{ type }]))}::text::jsonb, false)`);
  }
  return all(parts);
}

/**
 * Rows of one record of chains, or of one actor, which an index has in order (audit_log_by_resource, _by_actor): the
 * walk sees no others; elsewhere every row.
 */
export function keyText(values: Values, f: LogFilter, range: Range): string {
  if (!isKeyed(f, range)) return "true";
  if (f.resourceId) return `l.resource_id = ${values.add(f.resourceId)}::uuid`;
  return `l.actor_id = ${values.add(f.actorId)}::uuid`;
}

/** Whether a walk sees the rows of one record or one actor alone. */
export const isKeyed = ({ resourceId, actorId }: LogFilter, { kind }: Range): boolean =>
  kind === "chains" && Boolean(resourceId || actorId);

/** Whether a row matches the filters; never null. */
export function matchText(values: Values, f: LogFilter): string {
  const parts: string[] = [];
  const contains = (text: string, ...columns: string[]) => {
    const pattern = values.add(containsPattern(text));
    return columns.map((column) => `coalesce(${column} ILIKE ${pattern}, false)`);
  };
  const any = (texts: readonly string[]) => `(${texts.join(" OR ")})`;
  if (f.excludeActions.length > 0) parts.push(`l.action <> ALL (${values.add([...f.excludeActions])}::text[])`);
  if (f.actions.length > 0) parts.push(`l.action = ANY (${values.add([...f.actions])}::text[])`);
  if (f.category) parts.push(categoryText(values, f.category));
  if (f.actorId) parts.push(`l.actor_id = ${values.add(f.actorId)}::uuid`);
  if (f.resourceId) parts.push(`l.resource_id = ${values.add(f.resourceId)}::uuid`);
  if (f.resourceType) parts.push(`l.resource_type = ${values.add(f.resourceType)}`);
  if (f.result) parts.push(`l.result = ${values.add(f.result)}`);
  parts.push(...originTexts(values, f));
  if (f.details.length > 0) {
    parts.push(any(f.details.map((each) => `l.details @> ${values.add(JSON.stringify(each))}::text::jsonb`)));
  }
  if (f.action) parts.push(any(contains(f.action, "l.action")));
  if (f.user) parts.push(any(contains(f.user, "l.actor_email", "l.actor_name")));
  if (f.resource) parts.push(any(contains(f.resource, "l.resource_type", "l.resource_name")));
  if (f.query) {
    const details = jsonPatterns(f.query).map((pattern) => `l.details::text ILIKE ${values.add(pattern)}`);
    parts.push(
      any([...contains(f.query, "l.action", "l.actor_email", "l.resource_type", "l.resource_name"), ...details]),
    );
  }
  return all(parts);
}

/** Conditions on who acted from where, and on what. */
function originTexts(values: Values, f: LogFilter): string[] {
  const parts: string[] = [];
  if (f.actorType) parts.push(`l.actor_type = ${values.add(f.actorType)}`);
  if (f.sessionId) parts.push(`coalesce(l.session_id = ${values.add(f.sessionId)}::uuid, false)`);
  if (f.ipAddress) parts.push(`coalesce(l.ip_address = ${values.add(f.ipAddress)}, false)`);
  if (f.network) parts.push(`coalesce(address_of(l.ip_address) <<= ${values.add(f.network)}::inet, false)`);
  if (f.target) {
    const id = values.add(f.target);
    const named = values.add(JSON.stringify([{ id: f.target }]));
    parts.push(`(l.resource_id::text = ${id} OR coalesce(l.details->>'rawResourceId' = ${id}, false)
      OR coalesce(l.targets @> ${named}::text::jsonb, false))`);
  }
  return parts;
}

/** Actions of a category, by the prefixes that categoryOf uses. */
function categoryText(values: Values, category: Category): string {
  const patterns = prefixesOf(category).map((prefix) => `${prefix.replace(/[\\%_]/g, "\\$&")}%`);
  const like = `l.action LIKE ANY (${values.add(patterns)}::text[])`;
  return category === "system" ? `NOT ${like}` : like;
}

/** The query's own predicate besides row-level security; it also determines the index. */
export function rangeText(values: Values, range: Range, alias = "l"): string {
  switch (range.kind) {
    case "all":
      return "true";
    case "partner":
      return `${alias}.partner_id = ${values.add(range.partnerId)}::uuid`;
    case "chains":
      return `${alias}.chain_id = ANY (${values.add([...range.chainIds])}::uuid[])`;
    default:
      return range satisfies never;
  }
}

type Source = { range: Range; actions: readonly string[] | null; bounds: string; columns: string; rows: string };

/**
 * The newest `rows` rows of a range in order, as a FROM item named l. One chain, a partner or everything is one ordered
 * scan (audit_log_by_chain, _by_partner, _by_time); several chains, or the actions of one (audit_log_by_action), are as
 * many scans merged.
 */
export function newestRows(values: Values, { range, actions, bounds, columns, rows }: Source): string {
  const order = `ORDER BY l.timestamp DESC, l.id DESC LIMIT ${rows}`;
  const chains = range.kind === "chains" ? range.chainIds : null;
  if (!chains || (chains.length === 1 && actions === null)) {
    const within = chains ? `l.chain_id = ${values.add(chains[0])}::uuid` : rangeText(values, range);
    return `(SELECT ${columns} FROM audit_log l WHERE ${within} AND ${bounds} ${order}) l`;
  }
  const keys = [`unnest(${values.add([...chains])}::uuid[]) AS c (chain_id)`];
  const own = ["l.chain_id = c.chain_id"];
  if (actions) {
    keys.push(`unnest(${values.add([...actions])}::text[]) AS a (action)`);
    own.push("l.action = a.action");
  }
  const scan = `SELECT ${columns} FROM audit_log l WHERE ${all([...own, bounds])} ${order}`;
  return `(SELECT l.* FROM ${keys.join(" CROSS JOIN ")} CROSS JOIN LATERAL (${scan}) l ${order}) l`;
}
