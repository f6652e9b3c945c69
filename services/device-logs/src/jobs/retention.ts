import type { Database } from "@muster/db";
import { counter, gauge, type Logger } from "@muster/kit";
import { dayOf } from "../commands/log-quotas.ts";
import type { EffectiveLimits } from "../rules/log-limits.ts";
import { removeExpiredRequests } from "../store/log-requests.ts";
import { removeUsageBefore } from "../store/log-usage.ts";
import { makeWeeks, prune } from "../store/logs.ts";
import { pruneShortRetentions } from "../store/short-retention.ts";

const weeksAhead = 8;
const everyMs = 3_600_000;
const requestsEveryMs = 60_000;
const dayMs = 86_400_000;
/** Days for which it is shown who sent how much. */
const usageDays = 90;

const pruned = counter("muster_device_logs_rows_pruned_total", "Rows that retention removed.", ["kind"]);
const failures = counter(
  "muster_device_logs_maintenance_failures_total",
  "Runs of the partition and retention job that failed.",
);
const lastRun = gauge(
  "muster_device_logs_maintenance_last_success_timestamp_seconds",
  "Unix time at which the job last succeeded.",
);

export type Maintenance = { stop(): Promise<void>; run(): Promise<void> };

/**
 * At start and every hour: creates partitions for the coming weeks, and drops data past its retention. Every minute:
 * drops requests whose repeats are no longer recognised. Every replica runs it; the database ensures that each step
 * takes effect once.
 */
export function startMaintenance(options: {
  db: Database;
  log: Logger;
  platform: EffectiveLimits;
  now: () => Date;
}): Maintenance {
  const { db, log, platform, now } = options;
  const { agentLogDays, eventLogDays } = platform;
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  const once = async () => {
    const made = await makeWeeks(db, weeksAhead);
    const at = now().getTime();
    const before = { agentLogs: new Date(at - agentLogDays * dayMs), events: new Date(at - eventLogDays * dayMs) };
    const gone = await prune(db, before, () => !stopped);
    const short = await pruneShortRetentions(db, platform, now(), () => !stopped);
    await removeUsageBefore(db, dayOf(new Date(at - usageDays * dayMs)));
    pruned.inc({ kind: "agent_log_week" }, gone.weeks.length);
    pruned.inc({ kind: "agent_log" }, gone.agentLogs);
    pruned.inc({ kind: "event_log" }, gone.events);
    pruned.inc({ kind: "short_retention" }, short);
    lastRun.set(at / 1_000);
    if (made > 0 || gone.weeks.length > 0 || gone.events > 0) log.info({ made, ...gone }, "partitions and retention");
  };
  const begin = () => {
    running = running.then(once).catch((err: unknown) => {
      failures.inc();
      log.warn({ err }, "partitions and retention not done, tried again in an hour");
    });
  };
  begin();
  const requests = async () => {
    pruned.inc({ kind: "agent_log_request" }, await removeExpiredRequests(db, () => !stopped));
  };
  const beginRequests = () => {
    running = running.then(requests).catch((err: unknown) => {
      failures.inc();
      log.warn({ err }, "expired requests not removed, tried again in a minute");
    });
  };
  const timers = [setInterval(begin, everyMs), setInterval(beginRequests, requestsEveryMs)];
  for (const timer of timers) timer.unref();
  return {
    async run() {
      await once();
      await requests();
    },
    async stop() {
      stopped = true;
      for (const timer of timers) clearInterval(timer);
      await running;
    },
  };
}
