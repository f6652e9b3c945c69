import type { Database } from "@muster/db";
import { gauge, keepWorking, type Logger, sleep, systemCaller } from "@muster/kit";
import { oldestDays } from "../rules/envelope.ts";
import {
  dropDays,
  ensureDays,
  isAnyDeleted,
  removeDeliveries,
  removeExpired,
  removePreviousSecrets,
  removeWebhook,
  takeDeletedWebhook,
} from "../store/maintenance.ts";
import type { Concurrency } from "../store/queued.ts";
import { queueAge } from "../store/throttled.ts";

export type MaintenanceDeps = { db: Database; log: Logger; retentionDays: number };

const readOnly = { readOnly: true } as const;
const who = () => ({ caller: systemCaller("webhook-dispatcher") });
const daysAhead = 7;
const chunk = 1_000;
const everyMs = { days: 3_600_000, deleted: 10_000, metrics: 15_000 };

const oldestGauge = gauge(
  "muster_webhook_dispatcher_oldest_due_age_seconds",
  "Seconds since the oldest delivery that a sender may start fell due; one that waits for a slot of its own webhook, organization or host does not count.",
);
const rowsGauge = gauge(
  "muster_webhook_dispatcher_queued_deliveries",
  "Deliveries that must still be sent, as the planner estimates.",
);

/**
 * Creates partitions of coming days and drops old ones, removes deleted webhooks in steps, and keeps the queue's
 * metrics current; until stopped.
 */
export function startMaintenance(deps: MaintenanceDeps & { concurrency: Concurrency }): { stop(): Promise<void> } {
  const { concurrency } = deps;
  const every = (what: string, ms: number, run: (signal: AbortSignal) => Promise<unknown>) =>
    keepWorking(ms, run, (err) => deps.log.warn({ err, what }, "maintenance failed, trying again later"));
  const loops = [
    every("days", everyMs.days, (signal) => keepDays(deps, signal)),
    every("deleted webhooks", everyMs.deleted, (signal) => purgeDeleted(deps, signal)),
    every("metrics", everyMs.metrics, async () => {
      const { rows, oldestDueSeconds } = await deps.db.inOneBatch(who(), (tx) => queueAge(tx, concurrency), readOnly);
      rowsGauge.set(rows);
      oldestGauge.set(oldestDueSeconds);
    }),
  ];
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}

/**
 * Creates the partitions of days for events, a week ahead, and drops those past the retention.
 */
export async function keepDays({ db, log, retentionDays }: MaintenanceDeps, signal?: AbortSignal): Promise<void> {
  await db.tx(who(), removePreviousSecrets);
  const made = await db.tx(who(), (tx) => ensureDays(tx, oldestDays(retentionDays), daysAhead));
  if (made > 0) log.info({ tables: made }, "partitions of days created");
  while (!signal?.aborted) {
    const dropped = await db.tx(who(), (tx) => dropDays(tx, retentionDays, 3));
    if (dropped === 0) break;
    log.info({ tables: dropped }, "partitions of days dropped");
  }
  while (!signal?.aborted) {
    if ((await db.tx(who(), (tx) => removeExpired(tx, retentionDays, chunk))) === 0) break;
  }
}

/** Removes the rows of deleted webhooks, a thousand deliveries a transaction, with a pause after each. */
export async function purgeDeleted({ db }: MaintenanceDeps, signal?: AbortSignal): Promise<void> {
  if (!(await db.inOneBatch(who(), isAnyDeleted, readOnly))) return;
  for (let isMore = true; isMore && !signal?.aborted; ) {
    isMore = await db.tx(who(), async (tx) => {
      const id = await takeDeletedWebhook(tx);
      if (id === null) return false;
      if ((await removeDeliveries(tx, id, chunk)) === 0) await removeWebhook(tx, id);
      return true;
    });
    await sleep(10, signal);
  }
}
