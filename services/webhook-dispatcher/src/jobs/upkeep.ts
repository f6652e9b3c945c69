import type { Database } from "@muster/db";
import { gauge, keepWorking, type Logger, sleep, systemCaller } from "@muster/kit";
import { oldestDays } from "../rules/envelope.ts";
import { queueAge } from "../store/pressure.ts";
import type { Slots } from "../store/queued.ts";
import {
  dropDays,
  ensureDays,
  isAnyDeleted,
  removeDeliveries,
  removeExpired,
  removePreviousSecrets,
  removeWebhook,
  takeDeletedWebhook,
} from "../store/upkeep.ts";

export type UpkeepDeps = { db: Database; log: Logger; retentionDays: number };

const look = { readOnly: true } as const;
const who = () => ({ caller: systemCaller("webhook-dispatcher") });
const daysAhead = 7;
const chunk = 1_000;
const everyMs = { days: 3_600_000, deleted: 10_000, metrics: 15_000 };

const oldestGauge = gauge(
  "muster_webhook_dispatcher_oldest_due_age_seconds",
  "Seconds since the oldest delivery that a sender may start fell due; one held up by its own receiver, organization or host does not count.",
);
const rowsGauge = gauge(
  "muster_webhook_dispatcher_queued_deliveries",
  "Deliveries that must still be sent, as the planner estimates.",
);

/**
 * Creates partitions of coming days and drops old ones, removes deleted webhooks in steps, and keeps the queue's
 * metrics current; until stopped.
 */
export function startUpkeep(deps: UpkeepDeps & { slots: Slots }): { stop(): Promise<void> } {
  const { slots } = deps;
  const every = (what: string, ms: number, run: (signal: AbortSignal) => Promise<unknown>) =>
    keepWorking(ms, run, (err) => deps.log.warn({ err, what }, "upkeep failed, later again"));
  const loops = [
    every("days", everyMs.days, (signal) => keepDays(deps, signal)),
    every("deleted webhooks", everyMs.deleted, (signal) => purgeDeleted(deps, signal)),
    every("metrics", everyMs.metrics, async () => {
      const { rows, oldestDueSeconds } = await deps.db.inOneBatch(who(), (tx) => queueAge(tx, slots), look);
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
 * Creates the days that events may be stored in, those of the coming week included, and drops those that are kept no
 * longer.
 */
export async function keepDays({ db, log, retentionDays }: UpkeepDeps, signal?: AbortSignal): Promise<void> {
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

/** Removes what deleted webhooks leave behind, a thousand deliveries a transaction, with a pause after each. */
export async function purgeDeleted({ db }: UpkeepDeps, signal?: AbortSignal): Promise<void> {
  if (!(await db.inOneBatch(who(), isAnyDeleted, look))) return;
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
