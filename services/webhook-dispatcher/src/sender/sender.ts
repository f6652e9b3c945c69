import type { Database } from "@muster/db";
import { backoffMs, counter, createCounts, gauge, type Logger, type SecretBox, sleep, systemCaller } from "@muster/kit";
import { createMutex, type InlineLease, type InlineSends } from "../commands/inline.ts";
import { everyRequest } from "../rules/shares.ts";
import { confirmLeases } from "../store/intake.ts";
import { type Claimed, claimDue, nextDueMs, type Payload } from "../store/queue.ts";
import type { HealthLimits } from "../store/webhook-state.ts";
import { type AttemptDeps, attempt } from "./attempt.ts";
import { traced } from "./attempt-span.ts";
import { createFinisher } from "./finisher.ts";
import { countInFlight } from "./request-counts.ts";
import { type OpenedWebhook, webhookCache } from "./webhook-cache.ts";

export type SenderDeps = Omit<AttemptDeps, "ending"> & {
  db: Database;
  log: Logger;
  box: SecretBox;
  concurrency: number;
  leaseMs: number;
  organizationConcurrency: number;
  hostConcurrency: number;
  limits: HealthLimits;
  /** Milliseconds for requests in flight to end when the sender is stopped. */
  graceMs: number;
};

export type Sender = {
  /** Claims immediately: a delivery may be due. */
  wake(): void;
  /** Deliveries sent by the process that stores them. */
  inline: InlineSends;
  /** Claims nothing more, waits for the requests in flight, stores their outcomes. */
  stop(): Promise<void>;
};

const mostPerClaim = 256;
/**
 * Pause in milliseconds between checks without a notification; a delivery that falls due shortens it, a long idle
 * time lengthens it.
 */
const pollMs = 1_000;
const idlePollMs = 5_000;
const idleAfterMs = 10_000;
const busyPollMs = 250;
/** Retries that are due within this many milliseconds are claimed together. */
const retryGridMs = 20;
/**
 * Milliseconds after which a request without an answer frees its slot of `concurrency`: receivers that hang take none
 * from others (docs/decisions/0090-requests-without-an-answer-free-their-slot-after-two-seconds.md).
 */
const slotMs = 2_000;
/** Most open requests of a process, for each of its slots. */
const openPerSlot = 4;
/** Milliseconds after COMMIT beyond which a delivery is checked again before it is sent. */
const lateMs = 100;
const who = () => ({ caller: systemCaller("webhook-dispatcher") });

const inFlightGauge = gauge("muster_webhook_dispatcher_requests_in_flight", "Requests of this process in flight.");
const claimedCounter = counter(
  "muster_webhook_dispatcher_deliveries_claimed_total",
  "Deliveries taken for an attempt.",
);
const inlineCounter = counter(
  "muster_webhook_dispatcher_deliveries_inline_total",
  "Deliveries sent by the process that stored them.",
);
const requeuedCounter = counter(
  "muster_webhook_dispatcher_deliveries_requeued_total",
  "Deliveries returned to the queue because their webhook changed before they were sent.",
);

/** Sends the deliveries that it claims or that are leased to it inline, and stores their outcomes, until stopped. */
export function startSender(deps: SenderDeps): Sender {
  const { db, log, concurrency } = deps;
  const openRequests = openPerSlot * concurrency;
  const stopping = new AbortController();
  const ending = new AbortController();
  const webhooks = webhookCache(deps.box);
  const exclusively = createMutex();
  const inFlight = countInFlight();
  const countOpen = () => inFlight.of(everyRequest);
  /** The requests that hold a slot, by their start, oldest first. */
  const slotted = new Set<{ startedMs: number }>();
  let confirming = 0;
  let notify: () => void = () => undefined;
  let isWoken = true;
  let busyAtMs = performance.now();
  /**
   * Ids or names of webhooks, organizations, partners and hosts with queued deliveries but without a free slot.
   */
  const blocked = new Set<string>();
  /** Requests of this process by webhook, until their outcomes are stored. */
  const unsettled = createCounts();
  let isIdle = false;
  let onDrained: (() => void) | null = null;

  const wake = () => {
    isWoken = true;
    notify();
  };
  const finisher = createFinisher({
    db,
    log,
    now: deps.now,
    limits: deps.limits,
    organizationConcurrency: deps.organizationConcurrency,
    frees: ({ claim: { webhook_id: webhookId, org_id: orgId, partner_id: partnerId, host } }) =>
      blocked.has(webhookId) || blocked.has(orgId) || blocked.has(partnerId) || blocked.has(host),
    isQuiet: () => countOpen() === 0,
    onStored(outcomes, isFreed) {
      // Slots are free again; when no queued delivery waits for one of them, a claim would find nothing.
      if (isFreed) wake();
      else notify();
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
      // No outcome of this process will free a slot of it: a claim checks, and polls follow.
      if (!blocked.has(id) && unsettled.of(id) === 0) wake();
      blocked.add(id);
    }
    finisher.hurry();
  };
  const freeSlots = () => {
    const before = performance.now() - slotMs;
    for (const each of slotted) {
      if (each.startedMs > before) break;
      slotted.delete(each);
    }
    return Math.min(concurrency - slotted.size, openRequests - countOpen()) - confirming;
  };
  const room = () => {
    if (stopping.signal.aborted || finisher.stuck()) return 0;
    return Math.max(0, Math.min(mostPerClaim, freeSlots(), 4 * concurrency - finisher.waiting()));
  };

  const { leaseMs, organizationConcurrency, hostConcurrency, limits } = deps;
  const wanted = {
    leaseMs,
    organizationConcurrency,
    hostConcurrency,
    openRequests,
    webhookConcurrency: limits.webhookConcurrency,
  };
  const claim = async (most: number) => {
    const found = await claimDue(db, { most, partners: inFlight.rooms(openRequests, most), ...wanted });
    const { claims, payloads } = found;
    blocked.clear();
    for (const key of found.blocked) blocked.add(key);
    finisher.hurry();
    // Already leased: only a webhook that is not cached in its present generation is read before the request.
    await webhooks.load((statement) => db.read(who(), statement), claims);
    return { claims, payloads };
  };

  const count = (each: Claimed, change: 1 | -1) => {
    inFlight.add(each, change);
    inFlightGauge.set(countOpen());
  };

  // Made once: V8 makes a slow object of a copy with keys before it.
  const attempting: AttemptDeps = { ...deps, ending: ending.signal };
  const run = async (each: Claimed, webhook: OpenedWebhook | null, payload: Payload | null) => {
    const slot = { startedMs: performance.now() };
    slotted.add(slot);
    count(each, 1);
    unsettled.add(each.webhook_id, 1);
    try {
      const outcome = await traced(each, payload, () => attempt(attempting, each, webhook, payload));
      count(each, -1);
      if (outcome) finisher.add(outcome);
      else unsettled.add(each.webhook_id, -1);
    } catch (err) {
      count(each, -1);
      unsettled.add(each.webhook_id, -1);
      // Its lease expires, and the next sender marks its request as a possible repeat.
      log.error({ err, deliveryId: each.delivery_id }, "attempt failed unexpectedly");
    } finally {
      slotted.delete(slot);
      if (countOpen() === 0) onDrained?.();
      notify();
    }
  };

  /** Waits until `until` returns true, at most `ms`; `until` is checked whenever `notify` is called. */
  const pause = (ms: number, until: () => boolean) =>
    new Promise<void>((resolve) => {
      const isOver = () => until() || stopping.signal.aborted;
      if (isOver()) return resolve();
      const timer = setTimeout(resolve, ms);
      notify = () => {
        if (!isOver()) return;
        clearTimeout(timer);
        resolve();
      };
    });

  const waitForWake = async (ms: number) => {
    isIdle = true;
    await pause(ms, () => isWoken);
    isIdle = false;
  };

  /** One claim and its requests; returns their number, and whether another claim may find more. */
  const round = async (): Promise<{ taken: number; isMore: boolean }> => {
    const { claims, payloads, isFull } = await exclusively(async () => {
      const most = room();
      if (most === 0) return { claims: [], payloads: [], isFull: true };
      const found = await claim(most);
      return { ...found, isFull: found.claims.length === most };
    });
    claimedCounter.inc(claims.length);
    const ofHook = new Map<string, number>();
    for (const [n, each] of claims.entries()) {
      ofHook.set(each.webhook_id, (ofHook.get(each.webhook_id) ?? 0) + 1);
      void run(each, webhooks.get(each.webhook_id), payloads[n] ?? null);
    }
    // A claim takes few deliveries per webhook when many webhooks have some.
    return { taken: claims.length, isMore: isFull || Math.max(0, ...ofHook.values()) > 1 };
  };

  const loop = async () => {
    let least = 1;
    let foundNothing = false;
    for (let failures = 0; !stopping.signal.aborted; ) {
      try {
        if (!isWoken && foundNothing) {
          // Due deliveries may not be claimable yet: pause before the next check, and do not claim before it.
          foundNothing = false;
          await waitForWake(busyPollMs);
          continue;
        }
        if (!isWoken) {
          // The check only reads: an idle cluster writes nothing.
          const checkMs = performance.now() - busyAtMs > idleAfterMs ? idlePollMs : pollMs;
          const pauseMs = await db.inOneBatch(who(), (tx) => nextDueMs(tx, checkMs), { readOnly: true });
          await waitForWake(pauseMs);
          if (!isWoken && pauseMs === checkMs) continue;
        }
        // Under load a claim waits until enough slots are free to be worth its cost.
        await pause(busyPollMs, () => room() >= least);
        if (room() === 0) continue;
        isWoken = false;
        busyAtMs = performance.now();
        const { taken, isMore } = await round();
        failures = 0;
        foundNothing = taken === 0;
        least = isMore ? Math.ceil(concurrency / 4) : 1;
        isWoken ||= isMore;
      } catch (err) {
        log.warn({ err }, "deliveries cannot be claimed now");
        await sleep(backoffMs(failures++, 100, 2_000), stopping.signal);
      }
    }
  };
  const running = loop();

  const start = (leases: readonly (InlineLease & { webhook: OpenedWebhook | null })[]) => {
    inlineCounter.inc(leases.length);
    for (const { claim: each, payload, webhook } of leases) void run(each, webhook, payload);
  };

  /** The webhook may have been paused or changed, and that call answered, since its delivery was stored. */
  const confirm = async (leases: readonly (InlineLease & { webhook: OpenedWebhook | null })[]) => {
    confirming += leases.length;
    try {
      const claims = leases.map((lease) => lease.claim);
      const confirmed = await db.tx(who(), (tx) => confirmLeases(tx, claims));
      requeuedCounter.inc(leases.length - confirmed.size);
      start(leases.filter((lease) => confirmed.has(lease.claim.delivery_id)));
    } catch (err) {
      log.warn({ err, deliveries: leases.length }, "leases cannot be confirmed now: they expire");
    } finally {
      confirming -= leases.length;
      wake();
    }
  };

  return {
    wake,
    inline: {
      limits: wanted,
      room,
      isIdle: () => isIdle && !isWoken,
      exclusively,
      inFlight: inFlight.of,
      isOpen: webhooks.has,
      open: (tx, claims) => webhooks.load((statement) => tx.query(statement), claims),
      start(leases, committedMs) {
        const opened = leases.map((lease) => ({ ...lease, webhook: webhooks.get(lease.claim.webhook_id) }));
        if (performance.now() - committedMs > lateMs && opened.length > 0) void confirm(opened);
        else start(opened);
      },
      noteBlocked,
    },
    async stop() {
      stopping.abort();
      notify();
      await running;
      // Waits for leasing transactions: their requests have started then, and nothing more is leased.
      await exclusively(async () => undefined);
      if (countOpen() > 0) {
        const done = new Promise<void>((resolve) => {
          onDrained = resolve;
        });
        const grace = setTimeout(() => ending.abort(), deps.graceMs);
        await done;
        clearTimeout(grace);
      }
      // The timer ends together with the drain: it would keep the process.
      const drained = new AbortController();
      const draining = finisher.drained().finally(() => drained.abort());
      await Promise.race([draining, sleep(deps.graceMs, drained.signal)]);
    },
  };
}
