import { counter, createCounts, gauge, type Logger } from "@muster/kit";
import { everyRequest } from "../rules/shares.ts";
import type { Outcome } from "../store/outcomes.ts";
import type { Claimed, Payload } from "../store/queue.ts";
import { type AttemptDeps, attempt } from "./attempt.ts";
import { traced } from "./attempt-span.ts";
import { countInFlight } from "./request-counts.ts";
import type { OpenedWebhook } from "./webhook-cache.ts";

export type RequestsDeps = Omit<AttemptDeps, "ending"> & {
  log: Logger;
  /** Slots of this process. */
  concurrency: number;
  /** Called with each outcome; it is unsettled until `settle`. */
  onOutcome: (outcome: Outcome) => void;
  /** A request ended: a slot may be free. */
  onEnd: () => void;
};

/** A delivery that is leased to this process, its webhook and its payload; null when these are not kept any more. */
export type Leased = { claim: Claimed; webhook: OpenedWebhook | null; payload: Payload | null };

/**
 * Milliseconds after which a request without an answer frees its slot: receivers that hang take none from others
 * (docs/decisions/0090-requests-without-an-answer-free-their-slot-after-two-seconds.md).
 */
const slotMs = 2_000;
/** Most open requests of a process, for each of its slots. */
const openPerSlot = 4;

const inFlightGauge = gauge("muster_webhook_dispatcher_requests_in_flight", "Requests of this process in flight.");
const inlineCounter = counter(
  "muster_webhook_dispatcher_deliveries_inline_total",
  "Deliveries sent by the process that stored them.",
);

/** The requests of a process: each is counted until it ended, and its webhook until its outcome is stored. */
export class Requests {
  readonly #deps: RequestsDeps;
  /** Made once: V8 makes a slow object of a copy with keys before it. */
  readonly #attempting: AttemptDeps;
  readonly #ending = new AbortController();
  readonly #inFlight = countInFlight();
  /** The requests that hold a slot, by their start, oldest first. */
  readonly #slotted = new Set<{ startedMs: number }>();
  readonly #unsettled = createCounts();
  #reserved = 0;
  #onDrained: (() => void) | null = null;
  /** Most open requests. */
  readonly most: number;

  constructor(deps: RequestsDeps) {
    this.#deps = deps;
    this.#attempting = { ...deps, ending: this.#ending.signal };
    this.most = openPerSlot * deps.concurrency;
  }

  /** Requests in flight. */
  get open(): number {
    return this.#inFlight.of(everyRequest);
  }

  /** Requests in flight, by the keys of rules/shares.ts. */
  readonly inFlight = (key: string): number => this.#inFlight.of(key);

  /** Requests that each partner may start, at most `most`. */
  partnerRooms(most: number) {
    return this.#inFlight.rooms(this.most, most);
  }

  /** Free slots. */
  get free(): number {
    const before = performance.now() - slotMs;
    for (const each of this.#slotted) {
      if (each.startedMs > before) break;
      this.#slotted.delete(each);
    }
    return Math.min(this.#deps.concurrency - this.#slotted.size, this.most - this.open) - this.#reserved;
  }

  /** Keeps slots for requests that are about to start, or gives them back. */
  reserve(change: number): void {
    this.#reserved += change;
  }

  startInline(leased: readonly Leased[]): void {
    inlineCounter.inc(leased.length);
    for (const each of leased) this.start(each);
  }

  /** Starts the request of a delivery. */
  start({ claim, webhook, payload }: Leased): void {
    void this.#run(claim, webhook, payload);
  }

  /** Whether an outcome of this webhook is still to be stored, or a request to it to end. */
  isUnsettled(webhookId: string): boolean {
    return this.#unsettled.of(webhookId) > 0;
  }

  settle(webhookId: string): void {
    this.#unsettled.add(webhookId, -1);
  }

  /** Waits for the requests in flight; after `graceMs` they are aborted. */
  async drain(graceMs: number): Promise<void> {
    if (this.open === 0) return;
    const done = new Promise<void>((resolve) => {
      this.#onDrained = resolve;
    });
    const grace = setTimeout(() => this.#ending.abort(), graceMs);
    await done;
    clearTimeout(grace);
  }

  async #run(claim: Claimed, webhook: OpenedWebhook | null, payload: Payload | null): Promise<void> {
    const slot = { startedMs: performance.now() };
    this.#slotted.add(slot);
    this.#count(claim, 1);
    this.#unsettled.add(claim.webhook_id, 1);
    try {
      const outcome = await traced(claim, payload, () => attempt(this.#attempting, claim, webhook, payload));
      this.#count(claim, -1);
      if (outcome) this.#deps.onOutcome(outcome);
      else this.settle(claim.webhook_id);
    } catch (err) {
      this.#count(claim, -1);
      this.settle(claim.webhook_id);
      // Its lease expires, and the next sender marks its request as a possible repeat.
      this.#deps.log.error({ err, deliveryId: claim.delivery_id }, "attempt failed unexpectedly");
    } finally {
      this.#slotted.delete(slot);
      if (this.open === 0) this.#onDrained?.();
      this.#deps.onEnd();
    }
  }

  #count(claim: Claimed, change: 1 | -1): void {
    this.#inFlight.add(claim, change);
    inFlightGauge.set(this.open);
  }
}
