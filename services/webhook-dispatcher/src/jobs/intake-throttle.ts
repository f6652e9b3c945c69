import type { Database } from "@muster/db";
import { AppError, counter, gauge, keepWorking, type Logger, sleep, systemCaller } from "@muster/kit";
import type { IntakeThrottle } from "../commands/intake-throttle.ts";
import { findThrottled, type Throttled, type ThrottleLimits } from "../store/throttled.ts";

export type ThrottleDeps = { db: Database; log: Logger; limits: ThrottleLimits };

const checkMs = 500;
/** Milliseconds after the last posted event for which the checks continue. */
const idleMs = 5_000;
const waitMs = 250;

const throttledGauge = gauge(
  "muster_webhook_dispatcher_organizations_throttled",
  "Organizations whose events are refused at present.",
);
const rejectedCounter = counter(
  "muster_webhook_dispatcher_intake_events_rejected_total",
  "Posted events rejected because earlier ones wait.",
  ["code"],
);

/**
 * Rejects events while sendable deliveries wait, so that no accepted event waits for long; until stopped.
 */
export function startIntakeThrottle({ db, log, limits }: ThrottleDeps): IntakeThrottle {
  let lastEventMs = Number.NEGATIVE_INFINITY;
  // Webhooks and organizations that were throttled at the last check: since a slow receiver's slot may be free for a
  // moment, only two checks in a row count.
  let seen = new Set<string>();
  let throttled = new Map<string, "overloaded" | "rate_limited">();

  const check = async () => {
    const found = await db.tx({ caller: systemCaller("webhook-dispatcher") }, (tx) => findThrottled(tx, limits), {
      readOnly: true,
    });
    const twice = found.filter((each) => seen.has(keyOf(each)));
    seen = new Set(found.map(keyOf));
    throttled = new Map(twice.map(({ orgId, webhookId }) => [orgId, webhookId ? "overloaded" : "rate_limited"]));
    throttledGauge.set(throttled.size);
  };
  const checking = keepWorking(
    checkMs,
    async () => {
      if (performance.now() - lastEventMs < idleMs) await check();
      else if (seen.size > 0) [seen, throttled] = [new Set(), new Map()];
    },
    (err) => log.warn({ err }, "overdue deliveries cannot be read"),
  );

  return {
    async admit(orgId) {
      lastEventMs = performance.now();
      if (!throttled.has(orgId)) return;
      await sleep(waitMs);
      const code = throttled.get(orgId);
      if (!code) return;
      rejectedCounter.inc({ code });
      const text =
        code === "overloaded" ? "Events cannot be delivered fast enough now" : "Too many events wait already";
      throw new AppError(code, text, { retryAfterSeconds: 1 });
    },
    check,
    stop: () => checking.stop(),
  };
}

const keyOf = ({ orgId, webhookId }: Throttled) => `${orgId}/${webhookId}`;
