import { type Query, sql, type Tx } from "@muster/db";
import type { PurgedTenant } from "@muster/service";

/** How far a purge has come: everything before this block of this table is done. Null is the beginning. */
export type PurgeCursor = { table: string; block: number } | null;

/** Blocks that one statement reads (of 8 KiB). */
const sliceBlocks = 256;

/**
 * Deletes what the tenant has in the next blocks; the new cursor, null when all tables are done. A purge reads each table once from end to end:
 * no index on organizations that each inserted row would pay for, and no list of devices that could lack one.
 */
export async function purgeSlice(
  tx: Tx,
  tenant: PurgedTenant,
  cursor: PurgeCursor,
): Promise<{ cursor: PurgeCursor; deleted: number }> {
  const names = await tables(tx);
  const from = cursor === null ? 0 : names.findIndex((name) => !isBefore(name, cursor.table));
  const name = from < 0 ? undefined : names[from];
  if (name === undefined) return { cursor: null, deleted: 0 };
  const block = name === cursor?.table ? cursor.block : 0;
  const table = identifier(name);
  const owner = tenant.kind === "organization" ? sql`org_id` : sql`partner_id`;
  const end = block + sliceBlocks;
  const deleted = await tx.execute(sql`
    DELETE FROM ${table}
    WHERE ctid >= ${`(${block},0)`}::tid AND ctid < ${`(${end},0)`}::tid AND ${owner} = ${tenant.id}::uuid`);
  const [size] = await tx.query<{ blocks: number }>(
    sql`SELECT (pg_relation_size(${`device_logs.${name}`}::text::regclass) / current_setting('block_size')::int)::int AS blocks`,
  );
  if (end < (size?.blocks ?? 0)) return { cursor: { table: name, block: end }, deleted };
  const next = names[from + 1];
  return { cursor: next === undefined ? null : { table: next, block: 0 }, deleted };
}

/** The order of a purge: rows move from the default partition to a week's, never back. Devices are last. */
function isBefore(name: string, other: string): boolean {
  const rank = (each: string) => `${each === "device" ? 2 : each === "agent_log_default" ? 0 : 1}${each}`;
  return rank(name) < rank(other);
}

async function tables(tx: Tx): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(sql`
    SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent IN ('device_logs.agent_log'::regclass, 'device_logs.event_log'::regclass)`);
  return [...rows.map(({ name }) => name), "device"].sort((a, b) => (isBefore(a, b) ? -1 : 1));
}

function identifier(name: string): Query {
  if (!/^[a-z0-9_]+$/.test(name)) throw new Error(`a table is named ${name}`);
  return sql([name] as unknown as TemplateStringsArray);
}
