import type { Database } from "@muster/db";
import { backoffMs, counter, createCounts, gauge, type Logger, type SecretBox, sleep, systemCaller } from "@muster/kit";
import { createTurns, type DirectLease, type DirectSends } from "../commands/direct.ts";
import { everyRequest } from "../rules/shares.ts";
import type { HealthLimits } from "../store/endpoint-state.ts";
import { confirmLeases } from "../store/intake.ts";
import { type Claimed, claimDue, nextDueMs, type Payload } from "../store/queue.ts";
import { type AttemptDeps, attempt } from "./attempt.ts";
import { traced } from "./attempt-span.ts";
import { type Endpoint, endpointCache } from "./endpoints.ts";
import { createFinisher } from "./finisher.ts";
import { countUnderWay } from "./under-way.ts";

export type SenderDeps = Omit<AttemptDeps, "ending"> & {
  db: Database;
  log: Logger;
  box: SecretBox;
  concurrency: number;
  leaseMs: number;
  organizationSlots: number;
  hostSlots: number;
  limits: HealthLimits;
  /** Milliseconds that requests under way get when the sender is stopped. */
  graceMs: number;
};

export type Sender = {
  /** Claims at once: a delivery may be due. */
  wake(): void;
  /** For deliveries that are sent by the process that stores them. */
  direct: DirectSends;
  /** Claims nothing more, waits for what is under way, stores it. */
  stop(): Promise<void>;
};

const mostPerClaim = 256;
/**
 * Pause in milliseconds between checks without a notification; a delivery that is known to be due shortens it, a long
 * idle time lengthens it.
 */
const pollMs = 1_000;
const restingPollMs = 5_000;
const idleAfterMs = 10_000;
const busyPollMs = 250;
/** Retries that are due within this many milliseconds are claimed together. */
const retryGridMs = 20;
/**
 * Milliseconds after which a request without an answer gives up its place among `concurrency`: receivers that hang
 * keep none from others (docs/decisions/0090-requests-without-an-answer-free-their-slot-after-two-seconds.md).
 */
const placeMs = 2_000;
/** Most requests in flight of a process, for each of its places. */
const openPerPlace = 4;
/** Milliseconds after COMMIT beyond which a delivery is checked again before it is sent. */
const lateMs = 100;
const who = () => ({ caller: systemCaller("webhook-dispatcher") });

const inFlightGauge = gauge("muster_webhook_dispatcher_requests_in_flight", "Requests of this process in flight.");
const claimedCounter = counter(
  "muster_webhook_dispatcher_deliveries_claimed_total",
  "Deliveries taken for an attempt.",
);
const directCounter = counter(
  "muster_webhook_dispatcher_deliveries_inline_total",
  "Deliveries sent by the process that stored them.",
);
const releasedCounter = counter(
  "muster_webhook_dispatcher_deliveries_requeued_total",
  "Deliveries returned to the queue because their webhook changed before they were sent.",
);

/** Sends the deliveries that it claims or that are leased to it directly, and stores their outcomes, until stopped. */
export function startSender(deps: SenderDeps): Sender {
  const { db, log, concurrency } = deps;
  const openRequests = openPerPlace * concurrency;
  const stopping = new AbortController();
  const ending = new AbortController();
  const endpoints = endpointCache(deps.box);
  const inTurn = createTurns();
  const underWay = countUnderWay();
  const inFlight = () => underWay.of(everyRequest);
  /** When the requests began that hold a place, oldest first. */
  const placed = new Set<{ beganMs: number }>();
  let confirming = 0;
  let ring: () => void = () => undefined;
  let rung = true;
  let busyAtMs = performance.now();
  /**
   * Webhooks, organizations, partners and hosts, by id or name, without a free slot that a queued delivery waits for.
   */
  const blocked = new Set<string>();
  /** Requests of this process by webhook, until their outcomes are stored. */
  const unsettled = createCounts();
  let isResting = false;
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
    organizationSlots: deps.organizationSlots,
    frees: ({ claim: { webhook_id: webhookId, org_id: orgId, partner_id: partnerId, host } }) =>
      blocked.has(webhookId) || blocked.has(orgId) || blocked.has(partnerId) || blocked.has(host),
    isQuiet: () => inFlight() === 0,
    onStored(outcomes, isFreed) {
      // Slots are free again; when no queued delivery waits for one of them, a claim would find nothing.
      if (isFreed) wake();
      else ring();
      for (const { claim, next } of outcomes) {
        unsettled.add(claim.webhook_id, -1);
        if (next.status !== "retrying" || next.delayMs >= 60_000) continue;
        const dueMs = performance.now() + next.delayMs;
        setTimeout(wake, next.delayMs + retryGridMs - (dueMs % retryGridMs)).unref();
      }
    },
  });
  const noteBlocked = (webhookIds: Iterable<string>) => {
    for (const id of webhookIds) {
      // No outcome of this process will free a slot of it: a claim finds out, and polls follow.
      if (!blocked.has(id) && unsettled.of(id) === 0) wake();
      blocked.add(id);
    }
    finisher.hurry();
  };
  const freePlaces = () => {
    const before = performance.now() - placeMs;
    for (const each of placed) {
      if (each.beganMs > before) break;
      placed.delete(each);
    }
    return Math.min(concurrency - placed.size, openRequests - inFlight()) - confirming;
  };
  const room = () => {
    if (stopping.signal.aborted || finisher.stuck()) return 0;
    return Math.max(0, Math.min(mostPerClaim, freePlaces(), 4 * concurrency - finisher.waiting()));
  };

  const { leaseMs, organizationSlots, hostSlots, limits } = deps;
  const wanted = { leaseMs, organizationSlots, hostSlots, openRequests, endpointSlots: limits.endpointSlots };
  const claim = async (most: number) => {
    const found = await claimDue(db, { most, partners: underWay.rooms(openRequests, most), ...wanted });
    const { claims, payloads } = found;
    blocked.clear();
    for (const key of found.blocked) blocked.add(key);
    finisher.hurry();
    // Already leased: only a webhook that is not cached in its present generation is read before the request.
    await endpoints.load((statement) => db.read(who(), statement), claims);
    return { claims, payloads };
  };

  const count = (each: Claimed, change: 1 | -1) => {
    underWay.add(each, change);
    inFlightGauge.set(inFlight());
  };

  // Made once: V8 makes a slow object of a copy with keys before it.
  const attempting: AttemptDeps = { ...deps, ending: ending.signal };
  const run = async (each: Claimed, endpoint: Endpoint | null, payload: Payload | null) => {
    const place = { beganMs: performance.now() };
    placed.add(place);
    count(each, 1);
    unsettled.add(each.webhook_id, 1);
    try {
      const outcome = await traced(each, payload, () => attempt(attempting, each, endpoint, payload));
      count(each, -1);
      if (outcome) finisher.add(outcome);
      else unsettled.add(each.webhook_id, -1);
    } catch (err) {
      count(each, -1);
      unsettled.add(each.webhook_id, -1);
      // Its lease expires, and the next sender marks its request as a possible repeat.
      log.error({ err, deliveryId: each.delivery_id }, "attempt failed unexpectedly");
    } finally {
      placed.delete(place);
      if (inFlight() === 0) idle?.();
      ring();
    }
  };

  /** Waits until `until` returns true, at most `ms`; `until` is checked whenever `ring` is called. */
  const pause = (ms: number, until: () => boolean) =>
    new Promise<void>((resolve) => {
      const isOver = () => until() || stopping.signal.aborted;
      if (isOver()) return resolve();
      const timer = setTimeout(resolve, ms);
      ring = () => {
        if (!isOver()) return;
        clearTimeout(timer);
        resolve();
      };
    });

  const rest = async (ms: number) => {
    isResting = true;
    await pause(ms, () => rung);
    isResting = false;
  };

  /** One claim and its requests; returns their number, and whether another claim may find more. */
  const round = async (): Promise<{ taken: number; isMore: boolean }> => {
    const { claims, payloads, isFull } = await inTurn(async () => {
      const most = room();
      if (most === 0) return { claims: [], payloads: [], isFull: true };
      const found = await claim(most);
      return { ...found, isFull: found.claims.length === most };
    });
    claimedCounter.inc(claims.length);
    const ofHook = new Map<string, number>();
    for (const [n, each] of claims.entries()) {
      ofHook.set(each.webhook_id, (ofHook.get(each.webhook_id) ?? 0) + 1);
      void run(each, endpoints.get(each.webhook_id), payloads[n] ?? null);
    }
    // A claim takes few deliveries per webhook when many webhooks have some.
    return { taken: claims.length, isMore: isFull || Math.max(0, ...ofHook.values()) > 1 };
  };

  const loop = async () => {
    let least = 1;
    let isVain = false;
    for (let failures = 0; !stopping.signal.aborted; ) {
      try {
        if (!rung && isVain) {
          // Due deliveries may not be claimable yet: pause before the next check, and do not claim before it.
          isVain = false;
          await rest(busyPollMs);
          continue;
        }
        if (!rung) {
          // The check only reads: an idle cluster writes nothing.
          const lookMs = performance.now() - busyAtMs > idleAfterMs ? restingPollMs : pollMs;
          const restMs = await db.inOneBatch(who(), (tx) => nextDueMs(tx, lookMs), { readOnly: true });
          await rest(restMs);
          if (!rung && restMs === lookMs) continue;
        }
        // Under load a claim waits until enough slots are free to be worth its cost.
        await pause(busyPollMs, () => room() >= least);
        if (room() === 0) continue;
        rung = false;
        busyAtMs = performance.now();
        const { taken, isMore } = await round();
        failures = 0;
        isVain = taken === 0;
        least = isMore ? Math.ceil(concurrency / 4) : 1;
        rung ||= isMore;
      } catch (err) {
        log.warn({ err }, "deliveries cannot be claimed now");
        await sleep(backoffMs(failures++, 100, 2_000), stopping.signal);
      }
    }
  };
  const running = loop();

  const begin = (leases: readonly (DirectLease & { endpoint: Endpoint | null })[]) => {
    directCounter.inc(leases.length);
    for (const { claim: each, payload, endpoint } of leases) void run(each, endpoint, payload);
  };

  /** The webhook may have been paused or changed, and that request answered, since its delivery was stored. */
  const confirm = async (leases: readonly (DirectLease & { endpoint: Endpoint | null })[]) => {
    confirming += leases.length;
    try {
      const claims = leases.map((lease) => lease.claim);
      const confirmed = await db.tx(who(), (tx) => confirmLeases(tx, claims));
      releasedCounter.inc(leases.length - confirmed.size);
      begin(leases.filter((lease) => confirmed.has(lease.claim.delivery_id)));
    } catch (err) {
      log.warn({ err, deliveries: leases.length }, "leases cannot be confirmed now: they expire");
    } finally {
      confirming -= leases.length;
      wake();
    }
  };

  return {
    wake,
    direct: {
      limits: wanted,
      room,
      isResting: () => isResting && !rung,
      inTurn,
      underWay: underWay.of,
      isOpen: endpoints.has,
      open: (tx, claims) => endpoints.load((statement) => tx.query(statement), claims),
      begin(leases, committedMs) {
        const opened = leases.map((lease) => ({ ...lease, endpoint: endpoints.get(lease.claim.webhook_id) }));
        if (performance.now() - committedMs > lateMs && opened.length > 0) void confirm(opened);
        else begin(opened);
      },
      noteBlocked,
    },
    async stop() {
      stopping.abort();
      ring();
      await running;
      // Waits for leasing transactions: their deliveries have begun then, and nothing more is leased.
      await inTurn(async () => undefined);
      if (inFlight() > 0) {
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
