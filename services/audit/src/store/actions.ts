import type { Database, Who } from "@muster/db";
import { categoryOf } from "../rules/category.ts";
import { containsPattern } from "../rules/contains.ts";
import type { LogFilter } from "../rules/log-filter.ts";
import type { Range } from "../rules/range.ts";
import { filtersActions, filtersMore, Values } from "./conditions.ts";
import { readNewest } from "./planned-read.ts";

const mostActions = 300;
const mostScans = 64;

/**
 * The actions of a single chain that match the filter, found by skip-scanning audit_log_by_action. Null when a scan of
 * the rows is better: other filters need the rows anyway, or there are too many actions.
 */
export async function matchingActions(
  db: Database,
  who: Who,
  range: Range,
  filter: LogFilter,
): Promise<string[] | null> {
  if (!filtersActions(filter) || filtersMore(filter)) return null;
  if (range.kind !== "chains" || range.chainIds.length !== 1) return null;
  const values = new Values();
  const chain = `l.chain_id = ${values.add(range.chainIds[0])}::uuid`;
  const next = (after: string) =>
    `SELECT l.action::text FROM audit_log l WHERE ${chain} AND ${after} ORDER BY l.action LIMIT 1`;
  const wanted = filter.action ? `action ILIKE ${values.add(containsPattern(filter.action))}` : "true";
  const excluded = values.add([...filter.excludeActions]);
  const rows = await readNewest<{ action: string; wanted: boolean }>(db, who, {
    text: `WITH RECURSIVE a AS (
        (${next("true")})
        UNION ALL
        SELECT (${next("l.action > a.action")}) FROM a WHERE a.action IS NOT NULL
      )
      SELECT action, (${wanted} AND action <> ALL (${excluded}::text[])) AS wanted FROM a
      WHERE action IS NOT NULL LIMIT ${mostActions + 1}`,
    values: values.list,
  });
  const isSelected = (action: string) =>
    (filter.actions.length === 0 || filter.actions.includes(action)) &&
    (filter.category === null || categoryOf(action) === filter.category);
  const actions = rows.filter((row) => row.wanted && isSelected(row.action)).map((row) => row.action);
  return rows.length > mostActions || actions.length > mostScans ? null : actions;
}
