import type { Database } from "@muster/db";
import { backoffMs, counter, gauge, type Logger, type SecretBox, sleep, systemCaller } from "@muster/kit";
import type { HealthLimits } from "../store/endpoint-state.ts";
import { type Claimed, claimDue, type Payload, payloadsOf } from "../store/queue.ts";
import { type AttemptDeps, attempt } from "./attempt.ts";
import { endpointCache } from "./endpoints.ts";
import { createFinisher } from "./finisher.ts";

export type SenderDeps = Omit<AttemptDeps, "ending"> & {
  db: Database;
  log: Logger;
  box: SecretBox;
  concurrency: number;
  leaseMs: number;
  organizationSlots: number;
  hostSlots: number;
  limits: HealthLimits;
  /** Milliseconds for what is under way when it is stopped. */
  graceMs: number;
};

export type Sender = {
  /** Something may be due: look soon. */
  wake(): void;
  /** Claims nothing more, waits for what is under way, stores it. */
  stop(): Promise<void>;
};

const mostPerClaim = 256;
/** Between looks when nothing happens, and at least between any two. */
const pollMs = 250;
const gapMs = 15;
const busyGapMs = 2;

const inFlightGauge = gauge("muster_webhook_in_flight", "Requests of this process under way.");
const claimedCounter = counter("muster_webhook_claimed_total", "Deliveries taken for an attempt.");

/** Claims due deliveries, sends them and stores what came of it, until stopped. */
export function startSender(deps: SenderDeps): Sender {
  const { db, log, concurrency } = deps;
  const stopping = new AbortController();
  const ending = new AbortController();
  const endpoints = endpointCache(deps.box);
  let inFlight = 0;
  let ring: () => void = () => undefined;
  let rung = false;
  let idle: (() => void) | null = null;

  const wake = () => {
    rung = true;
    ring();
  };
  const finisher = createFinisher({
    db,
    log,
    now: deps.now,
    limits: deps.limits,
    onStored(outcomes) {
      // Slots are free again; and each retry is looked for when it is due, not at the next round.
      wake();
      for (const { next } of outcomes) {
        if (next.status === "retrying" && next.delayMs < 60_000) setTimeout(wake, next.delayMs + 1).unref();
      }
    },
  });

  const claim = async (most: number): Promise<{ claims: Claimed[]; payloads: Map<string, Payload> }> => {
    const { leaseMs, organizationSlots, hostSlots, limits } = deps;
    const wanted = { most, leaseMs, organizationSlots, hostSlots, endpointSlots: limits.endpointSlots };
    return db.tx({ caller: systemCaller("webhook-dispatcher") }, async (tx) => {
      const claims = await claimDue(tx, wanted);
      if (claims.length === 0) return { claims, payloads: new Map() };
      const [, rows] = await Promise.all([endpoints.load(tx, claims), payloadsOf(tx, claims)]);
      return { claims, payloads: new Map(rows.map((row) => [keyOf(row.org_id, row.id, row.occurred_at), row])) };
    });
  };

  const run = async (each: Claimed, payload: Payload | null) => {
    inFlight += 1;
    inFlightGauge.set(inFlight);
    try {
      const outcome = await attempt({ ...deps, ending: ending.signal }, each, endpoints.get(each.webhook_id), payload);
      if (outcome) finisher.add(outcome);
    } catch (err) {
      // Its lease ends, and the next sender says so.
      log.error({ err, deliveryId: each.delivery_id }, "attempt failed unexpectedly");
    } finally {
      inFlight -= 1;
      inFlightGauge.set(inFlight);
      if (inFlight === 0) idle?.();
    }
  };

  const loop = async () => {
    let least = 1;
    for (let failures = 0; !stopping.signal.aborted; ) {
      rung = false;
      const free = Math.min(mostPerClaim, concurrency - inFlight, 4 * concurrency - finisher.waiting());
      let taken = 0;
      if (free >= least && !finisher.stuck()) {
        try {
          const { claims, payloads } = await claim(free);
          failures = 0;
          taken = claims.length;
          // With much to do a claim waits until it is worth its price.
          least = taken === free ? Math.ceil(concurrency / 2) : 1;
          claimedCounter.inc(taken);
          for (const each of claims)
            void run(each, payloads.get(keyOf(each.org_id, each.event_id, each.created_at)) ?? null);
        } catch (err) {
          log.warn({ err }, "deliveries cannot be claimed now");
          await sleep(backoffMs(failures++, 100, 2_000), stopping.signal);
          continue;
        }
      }
      await sleep(least > 1 ? busyGapMs : gapMs, stopping.signal);
      if (least > 1 || taken > 0 || rung || stopping.signal.aborted) continue;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pollMs);
        ring = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };
  const running = loop();

  return {
    wake,
    async stop() {
      stopping.abort();
      ring();
      await running;
      if (inFlight > 0) {
        const done = new Promise<void>((resolve) => {
          idle = resolve;
        });
        const grace = setTimeout(() => ending.abort(), deps.graceMs);
        await done;
        clearTimeout(grace);
      }
      // The wait ends with what it waits for: a timer that stayed would keep the process.
      const drained = new AbortController();
      const draining = finisher.drained().finally(() => drained.abort());
      await Promise.race([draining, sleep(deps.graceMs, drained.signal)]);
    },
  };
}

const keyOf = (orgId: string, eventId: string, at: Date) => `${orgId}/${eventId}/${at.getTime()}`;
