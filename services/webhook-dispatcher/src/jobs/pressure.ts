import type { Database } from "@muster/db";
import { AppError, counter, gauge, keepWorking, type Logger, sleep, systemCaller } from "@muster/kit";
import type { Pressure } from "../commands/pressure.ts";
import { type Behind, behindOf, type PressureLimits } from "../store/pressure.ts";

export type PressureDeps = { db: Database; log: Logger; limits: PressureLimits };

const lookMs = 500;
/** Time after the last posted event in which the pressure is still checked. */
const idleMs = 5_000;
const waitMs = 250;

const behindGauge = gauge(
  "muster_webhook_dispatcher_organizations_throttled",
  "Organizations whose events are refused at present.",
);
const refusedCounter = counter(
  "muster_webhook_dispatcher_intake_events_rejected_total",
  "Posted events refused because others wait.",
  ["code"],
);

/**
 * Refuses events while deliveries that could be sent are not, so that no accepted event waits for long; until stopped.
 */
export function startPressure({ db, log, limits }: PressureDeps): Pressure {
  let askedMs = Number.NEGATIVE_INFINITY;
  // Webhooks and organizations that were behind at the last check: since a slow receiver's slot may be free for a
  // moment, only two checks in a row count.
  let seen = new Set<string>();
  let behind = new Map<string, "overloaded" | "rate_limited">();

  const look = async () => {
    const found = await db.tx({ caller: systemCaller("webhook-dispatcher") }, (tx) => behindOf(tx, limits), {
      readOnly: true,
    });
    const twice = found.filter((each) => seen.has(keyOf(each)));
    seen = new Set(found.map(keyOf));
    behind = new Map(twice.map(({ orgId, webhookId }) => [orgId, webhookId ? "overloaded" : "rate_limited"]));
    behindGauge.set(behind.size);
  };
  const looking = keepWorking(
    lookMs,
    async () => {
      if (performance.now() - askedMs < idleMs) await look();
      else if (seen.size > 0) [seen, behind] = [new Set(), new Map()];
    },
    (err) => log.warn({ err }, "pressure of deliveries cannot be read"),
  );

  return {
    async admit(orgId) {
      askedMs = performance.now();
      if (!behind.has(orgId)) return;
      await sleep(waitMs);
      const code = behind.get(orgId);
      if (!code) return;
      refusedCounter.inc({ code });
      const text =
        code === "overloaded" ? "Events cannot be delivered fast enough now" : "Too many events wait already";
      throw new AppError(code, text, { retryAfterSeconds: 1 });
    },
    look,
    stop: () => looking.stop(),
  };
}

const keyOf = ({ orgId, webhookId }: Behind) => `${orgId}/${webhookId}`;
