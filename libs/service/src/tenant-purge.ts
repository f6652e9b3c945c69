import { type Database, type Job, jobs, type Query, sql, sqlName, type Tx } from "@muster/db";
import { counter, keepWorking, type Logger, type Repeating, sleep, systemCaller } from "@muster/kit";
import { z } from "zod";
import type { PurgedTenant } from "./tenant-copy.ts";

const kind = "purge";
const everyMs = 15_000;
/** Pause between two slices, in which other work on these tables takes precedence. */
const pauseMs = 5;
/** Blocks that one statement reads (of 8 KiB), rows that one deletes by an index. */
const sliceBlocks = 256;
const sliceRows = 500;

const deletedRows = counter("muster_db_purged_rows_total", "Rows deleted since their tenant was, by table family.", [
  "table",
]);

/** What a tenant has in one table: `where` picks its rows. */
export type PurgeStep = {
  table: string;
  where: Query;
  /**
   * Read from end to end, in ranges of `blocks`: no index that each inserted row would pay for. Nothing may move such a
   * row of an ended tenant meanwhile, as an UPDATE does. Without it rows are found by an index, until there are none.
   */
  walk?: { blocks: number };
  /** Table whose name the metric bears, for partitions. */
  family?: string;
};

/** Every table's step, in the order in which they are done; called again for each slice. */
export type PurgePlan = (tx: Tx, tenant: PurgedTenant) => Promise<readonly PurgeStep[]> | readonly PurgeStep[];

export type PurgeDeps = { db: Database; service: string; log: Logger; plan: PurgePlan };

export const walked = { blocks: sliceBlocks };

/** The rows' owner: the organization, or the partner with all of its organizations. */
export function ownedBy({ kind: of, id }: PurgedTenant): Query {
  return of === "organization" ? sql`org_id = ${id}::uuid` : sql`partner_id = ${id}::uuid`;
}

/** Partitions of a table, by name. */
export async function partitionsOf(tx: Tx, table: string): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(sql`
    SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = ${table}::text::regclass ORDER BY c.relname`);
  return rows.map(({ name }) => name);
}

/**
 * Requests once the deletion of the rows that a tenant has here; its job bears the tenant's id, so that a repeat adds
 * nothing.
 */
export async function requestPurge(tx: Tx, tenant: PurgedTenant): Promise<void> {
  await tx.execute(sql`
    INSERT INTO job (id, kind, input) VALUES (${tenant.id}::uuid, ${kind}, ${JSON.stringify(tenant)}::jsonb)
    ON CONFLICT (id) DO NOTHING`);
}

/**
 * Runs the requested purges, one tenant after the other; returns their number. A purge that its process left unfinished
 * goes on where it was.
 */
export async function purgeAll(deps: PurgeDeps, signal?: AbortSignal, staleMs?: number): Promise<number> {
  const work = jobs(deps.db);
  for (let done = 0; ; done++) {
    const job = signal?.aborted ? null : await work.claim({ kinds: [kind], ...(staleMs ? { staleMs } : {}) });
    if (!job) return done;
    const tenant = tenantShape.parse(job.input);
    const rows = await purge(deps, job, tenant, signal);
    if (rows === null) return done;
    deps.log.info({ ...tenant, rows }, "data of a deleted tenant is gone");
  }
}

/** Runs requested purges until stopped. */
export function startPurges(deps: PurgeDeps): Repeating {
  return keepWorking(
    everyMs,
    (signal) => purgeAll(deps, signal),
    (err) => deps.log.warn({ err }, "data of deleted tenants cannot be deleted now"),
  );
}

const tenantShape = z.object({ kind: z.enum(["organization", "partner"]), id: z.string() });
/** Everything before this block of this table is done. */
const positionShape = z.object({ table: z.string(), block: z.number() });
type Position = z.infer<typeof positionShape>;
const progressShape = z.object({ at: positionShape.nullable(), rows: z.number() });

/** Rows deleted in all, null when it was left in the middle. */
async function purge(
  { db, service, plan }: PurgeDeps,
  job: Job,
  tenant: PurgedTenant,
  signal?: AbortSignal,
): Promise<number | null> {
  const work = jobs(db);
  let { at, rows } = progressShape.parse(job.cursor ?? { at: null, rows: 0 });
  while (!signal?.aborted) {
    const slice = await db.tx({ caller: systemCaller(service) }, async (tx) => {
      const done = await purgeSlice(tx, await plan(tx, tenant), at);
      const state = { at: done.next, rows: rows + done.deleted };
      if (done.next === null) await work.finish(job, { rows: state.rows }, tx);
      else await work.progress(job, state, tx);
      return done;
    });
    deletedRows.inc({ table: slice.family }, slice.deleted);
    rows += slice.deleted;
    at = slice.next;
    if (at === null) return rows;
    await sleep(pauseMs, signal);
  }
  return null;
}

/** Deletes what the tenant has in the next blocks or rows; where to go on, null when all steps are done. */
async function purgeSlice(
  tx: Tx,
  steps: readonly PurgeStep[],
  at: Position | null,
): Promise<{ next: Position | null; deleted: number; family: string }> {
  // When the partition was dropped meanwhile, the purge starts over: steps that are done find no rows.
  const nth = Math.max(0, at === null ? 0 : steps.findIndex(({ table }) => table === at.table));
  const step = steps[nth];
  if (step === undefined) return { next: null, deleted: 0, family: "" };
  const block = step.table === at?.table ? at.block : 0;
  const after = steps[nth + 1];
  const end = after === undefined ? null : { table: after.table, block: 0 };
  const { deleted, again } = step.walk
    ? await deleteBlocks(tx, step, block, step.walk.blocks)
    : await deleteRows(tx, step);
  return {
    next: again === null ? end : { table: step.table, block: again },
    deleted,
    family: step.family ?? step.table,
  };
}

async function deleteBlocks(tx: Tx, { table, where }: PurgeStep, block: number, blocks: number) {
  const end = block + blocks;
  const deleted = await tx.execute(sql`
    DELETE FROM ${sqlName(table)}
    WHERE ctid >= ${`(${block},0)`}::tid AND ctid < ${`(${end},0)`}::tid AND ${where}`);
  const [size] = await tx.query<{ blocks: number }>(
    sql`SELECT (pg_relation_size(${table}::text::regclass) / current_setting('block_size')::int)::int AS blocks`,
  );
  return { deleted, again: end < (size?.blocks ?? 0) ? end : null };
}

async function deleteRows(tx: Tx, { table, where }: PurgeStep) {
  const name = sqlName(table);
  const deleted = await tx.execute(sql`
    DELETE FROM ${name} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${name} WHERE ${where} LIMIT ${sliceRows}::int))`);
  return { deleted, again: deleted > 0 ? 0 : null };
}
