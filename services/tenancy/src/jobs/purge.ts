import type { Database } from "@muster/db";
import { counter, keepWorking, type Logger, ownMeta, type Repeating, systemCaller } from "@muster/kit";
import { recordChange } from "../emits/record-change.ts";
import { deleteEndedJobs, deleteJobsOf } from "../store/bulk-jobs.ts";
import { takePurged } from "../store/purges.ts";
import { deleteViewsOf } from "../store/saved-views.ts";

const everyMs = 3_600_000;
const dayMs = 86_400_000;
const most = 100;
/** Bulk jobs are kept that long after their end. */
const jobDays = 30;

const purged = counter("muster_tenancy_tenants_purged_total", "Deleted tenants for which a purge event was emitted.");

/**
 * Emits `tenancy.<organization|partner>.purged`, once, for each tenant that was deleted more than `days` ago; returns
 * their number. Services that hold data of the tenant delete it.
 */
export async function purgeOnce({ db, days, now }: { db: Database; days: number; now: () => Date }): Promise<number> {
  const caller = systemCaller("tenancy");
  const meta = ownMeta();
  const context = { caller, meta, deadlineMs: null, signal: new AbortController().signal };
  const at = now();
  for (let total = 0; ; ) {
    const count = await db.tx({ caller }, async (tx) => {
      const tenants = await takePurged(tx, new Date(at.getTime() - days * dayMs), at, most);
      const ids = tenants.map(({ id }) => id);
      await deleteViewsOf(tx, ids);
      await deleteJobsOf(tx, ids);
      for (const { kind, id, name, version, partner_id: partnerId, status } of tenants) {
        const orgId = kind === "organization" ? id : null;
        const tenant = { kind, id, name, version, partnerId, orgId, status, deleted: true };
        recordChange(tx, context, { tenant, change: "purged", action: `${kind}.purge`, details: {} }, at);
      }
      return tenants.length;
    });
    purged.inc(count);
    total += count;
    if (count === 0) return total;
  }
}

/** Looks at start and every hour, until stopped; also deletes bulk jobs that ended 30 days ago. */
export function startPurging(deps: { db: Database; log: Logger; days: number; now: () => Date }): Repeating {
  const look = async () => {
    const tenants = await purgeOnce(deps);
    if (tenants > 0) deps.log.info({ tenants }, "tenants purged");
    const before = new Date(deps.now().getTime() - jobDays * dayMs);
    await deps.db.tx({ caller: systemCaller("tenancy") }, (tx) => deleteEndedJobs(tx, before));
  };
  return keepWorking(everyMs, look, (err) => deps.log.warn({ err }, "deleted tenants cannot be purged now"));
}
