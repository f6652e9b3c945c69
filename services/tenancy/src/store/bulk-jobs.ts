import { type Database, type Query, sql, type Tx } from "@muster/db";
import { anyOf, conditions, nonEmpty } from "@muster/db/builder";
import type { CallContext, Caller, Page } from "@muster/kit";
import { type ListPage, readNewestPage } from "@muster/service";
import type { BulkAction, BulkFailures } from "../rules/bulk-job.ts";
import type { DeviceFields } from "../rules/device.ts";
import type { JsonObject } from "../rules/fields.ts";
import { ofTenants, type ViewTenant } from "./saved-views.ts";

export const bulkJobStates = ["queued", "running", "done", "cancelled"] as const;
export type BulkJobState = (typeof bulkJobStates)[number];

export type BulkJobRow = {
  id: string;
  org_id: string | null;
  partner_id: string | null;
  created_by: string;
  filter: JsonObject;
  action: BulkAction;
  change: Partial<DeviceFields>;
  total: number;
  /** Devices that were reached: changed or refused. */
  position: number;
  failed: number;
  failures: BulkFailures;
  state: BulkJobState;
  created_at: Date;
  finished_at: Date | null;
};

/** A job that this process works on for now, and the next devices of it. */
export type ClaimedJob = Pick<BulkJobRow, "id" | "action" | "change" | "position"> & {
  caller: JsonObject;
  meta: JsonObject;
  device_ids: string[];
};

const columns = sql`id, org_id, partner_id, created_by, filter, action, change, total, position, failed, failures, state,
  created_at, finished_at`;

/** The caller's own jobs, and those of tenants that are wholly in scope: a job names devices of all of its tenant. */
function jobsInScope(caller: Caller): Query {
  const own = sql`created_by = ${caller.actor.id}::uuid`;
  if (caller.siteIds !== null) return sql`${own} AND ${ofTenants(caller)}`;
  const isPart = caller.scope === "partner" && caller.orgAccess.mode === "list";
  return sql`(${own} OR ${isPart ? sql`org_id IS NOT NULL` : sql`true`}) AND ${ofTenants(caller)}`;
}

/** How many jobs of a tenant have not ended; creations wait for one another. */
export async function countOpenJobs(tx: Tx, { orgId, partnerId }: ViewTenant): Promise<number> {
  await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`bulk-jobs/${orgId ?? partnerId ?? ""}`}, 0))`);
  const [row] = await tx.query<{ n: number }>(sql`
    SELECT count(*)::int AS n FROM device_bulk_jobs
    WHERE state IN ('queued', 'running') AND org_id IS NOT DISTINCT FROM ${orgId}::uuid
      AND partner_id IS NOT DISTINCT FROM ${partnerId}::uuid`);
  return row?.n ?? 0;
}

export type NewBulkJob = Pick<BulkJobRow, "id" | "filter" | "action" | "change"> & {
  tenant: ViewTenant;
  createdBy: string;
  caller: unknown;
  meta: unknown;
  deviceIds: readonly string[];
};

export async function insertBulkJob(tx: Tx, job: NewBulkJob, now: Date): Promise<BulkJobRow> {
  const json = (value: unknown) => sql`${JSON.stringify(value)}::jsonb`;
  const [row] = await tx.query<BulkJobRow>(sql`
    INSERT INTO device_bulk_jobs (id, org_id, partner_id, created_by, caller, meta, filter, action, change, device_ids, total,
                                  claimed_until, created_at)
    VALUES (${job.id}, ${job.tenant.orgId}, ${job.tenant.partnerId}, ${job.createdBy}, ${json(job.caller)}, ${json(job.meta)},
            ${json(job.filter)}, ${job.action}, ${json(job.change)}, ${[...job.deviceIds]}::uuid[], ${job.deviceIds.length},
            ${now}, ${now})
    RETURNING ${columns}`);
  if (!row) throw new Error("a bulk job was not stored");
  return row;
}

/** A page of the jobs in the caller's scope, newest first (index device_bulk_jobs_newest). */
export function listBulkJobs(
  db: Database,
  who: CallContext,
  { orgId, states }: { orgId: string; states: readonly string[] },
  page: Page,
): Promise<ListPage<BulkJobRow>> {
  const where = conditions((rows) => rows.where(nonEmpty({ org_id: orgId })).modify(anyOf, "state", states));
  const visible = jobsInScope(who.caller);
  return readNewestPage<BulkJobRow>(db, who, { table: sql`device_bulk_jobs`, columns, where, visible }, page);
}

/** One job in the caller's scope, or null. */
export async function findBulkJob(db: Database, who: CallContext, id: string): Promise<BulkJobRow | null> {
  const [row] = await db.read<BulkJobRow>(
    who,
    sql`SELECT ${columns} FROM device_bulk_jobs WHERE id = ${id}::uuid AND ${jobsInScope(who.caller)}`,
  );
  return row ?? null;
}

/** As findBulkJob, locked until the end of the transaction. */
export async function lockBulkJob(tx: Tx, caller: Caller, id: string): Promise<BulkJobRow | null> {
  const [row] = await tx.query<BulkJobRow>(
    sql`SELECT ${columns} FROM device_bulk_jobs WHERE id = ${id}::uuid AND ${jobsInScope(caller)} FOR UPDATE`,
  );
  return row ?? null;
}

/** Ends a locked job. */
export async function markCancelled(tx: Tx, id: string, now: Date): Promise<BulkJobRow> {
  const [row] = await tx.query<BulkJobRow>(
    sql`UPDATE device_bulk_jobs SET state = 'cancelled', finished_at = ${now} WHERE id = ${id}::uuid RETURNING ${columns}`,
  );
  if (!row) throw new Error("a bulk job that was locked has gone");
  return row;
}

/** Whether a job waits for a process (index device_bulk_jobs_open). */
export async function isAnyJobOpen(db: Database, who: Parameters<Database["read"]>[0]): Promise<boolean> {
  const open = sql`SELECT FROM device_bulk_jobs WHERE state IN ('queued', 'running') AND claimed_until <= now() LIMIT 1`;
  return (await db.read(who, open)).length > 0;
}

/** The job that waits longest, for `seconds` this process's alone, with its next devices; null without one. */
export async function claimJob(tx: Tx, seconds: number, most: number): Promise<ClaimedJob | null> {
  const [row] = await tx.query<ClaimedJob>(sql`
    UPDATE device_bulk_jobs SET state = 'running', claimed_until = now() + make_interval(secs => ${seconds})
    WHERE id = (SELECT id FROM device_bulk_jobs WHERE state IN ('queued', 'running') AND claimed_until <= now()
                ORDER BY claimed_until LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, action, change, position, caller, meta, device_ids[position + 1:position + ${most}] AS device_ids`);
  return row ?? null;
}

/** Lets another process, or this one, continue the job. */
export async function releaseJob(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`UPDATE device_bulk_jobs SET claimed_until = now() WHERE id = ${id}::uuid`);
}

/**
 * Moves a job past the device at `position`, which ends it at the last one; `failures` are those with this device, when
 * it was refused. False when the job was cancelled, or another process has moved it.
 */
export async function passDevice(
  tx: Tx,
  { id, position }: { id: string; position: number },
  failures: BulkFailures | null,
): Promise<boolean> {
  const failed = failures === null ? sql`` : sql`failed = failed + 1, failures = ${JSON.stringify(failures)}::jsonb,`;
  const moved = await tx.execute(sql`
    UPDATE device_bulk_jobs
    SET position = position + 1, ${failed} state = CASE WHEN position + 1 = total THEN 'done' ELSE state END,
        finished_at = CASE WHEN position + 1 = total THEN clock_timestamp() END
    WHERE id = ${id}::uuid AND state = 'running' AND position = ${position}`);
  return moved === 1;
}

/** The failures of a job so far. */
export async function lockFailures(tx: Tx, id: string): Promise<BulkFailures> {
  const [row] = await tx.query<{ failures: BulkFailures }>(
    sql`SELECT failures FROM device_bulk_jobs WHERE id = ${id}::uuid FOR UPDATE`,
  );
  return row?.failures ?? {};
}

/** Deletes jobs that ended before `before` (index device_bulk_jobs_ended). */
export async function deleteEndedJobs(tx: Tx, before: Date): Promise<number> {
  return tx.execute(sql`DELETE FROM device_bulk_jobs WHERE finished_at < ${before}`);
}

/** Deletes the jobs of tenants that are purged. */
export async function deleteJobsOf(tx: Tx, tenantIds: readonly string[]): Promise<void> {
  await tx.execute(
    sql`DELETE FROM device_bulk_jobs WHERE org_id = ANY (${[...tenantIds]}::uuid[]) OR partner_id = ANY (${[...tenantIds]}::uuid[])`,
  );
}
