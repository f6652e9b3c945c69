import type { Database } from "@muster/db";
import { backoffMs, counter, type Logger, type SecretBox, settledWithin, sleep, systemCaller } from "@muster/kit";
import { createMutex, type InlineLease, type InlineSends } from "../commands/inline.ts";
import { confirmLeases } from "../store/intake.ts";
import type { Outcome } from "../store/outcomes.ts";
import { type Claimed, claimDue, nextDueMs } from "../store/queue.ts";
import type { HealthLimits } from "../store/webhook-state.ts";
import type { AttemptDeps } from "./attempt.ts";
import { Finisher } from "./finisher.ts";
import { type Leased, Requests } from "./requests.ts";
import { Wait } from "./wait.ts";
import { webhookCache } from "./webhook-cache.ts";

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
/** A later retry is found by a poll, in milliseconds. */
const farRetryMs = 60_000;
/** Milliseconds after COMMIT beyond which a delivery is checked again before it is sent. */
const lateMs = 100;
const who = { caller: systemCaller("webhook-dispatcher") };

const claimedCounter = counter(
  "muster_webhook_dispatcher_deliveries_claimed_total",
  "Deliveries taken for an attempt.",
);
const requeuedCounter = counter(
  "muster_webhook_dispatcher_deliveries_requeued_total",
  "Deliveries returned to the queue because their webhook changed before they were sent.",
);

/** Sends the deliveries that it claims or that are leased to it inline, and stores their outcomes, until stopped. */
export class Sender {
  readonly #deps: SenderDeps;
  readonly #stopping = new AbortController();
  readonly #wait = new Wait(this.#stopping.signal);
  readonly #webhooks: ReturnType<typeof webhookCache>;
  readonly #requests: Requests;
  readonly #finisher: Finisher;
  readonly #exclusively = createMutex();
  readonly #limits: InlineSends["limits"];
  /** Deliveries sent by the process that stores them. */
  readonly inline: InlineSends;
  /** Ids or names of webhooks, organizations, partners and hosts with queued deliveries but without a free slot. */
  readonly #blocked = new Set<string>();
  readonly #running: Promise<void>;
  #isWoken = true;
  #isIdle = false;
  #busyAtMs = performance.now();

  constructor(deps: SenderDeps) {
    this.#deps = deps;
    const { limits, organizationConcurrency, leaseMs, hostConcurrency } = deps;
    const { webhookConcurrency } = limits;
    this.#webhooks = webhookCache(deps.box);
    this.#finisher = new Finisher({
      ...{ db: deps.db, log: deps.log, now: deps.now, limits, organizationConcurrency },
      frees: (outcome) => this.#frees(outcome),
      isQuiet: () => this.#requests.open === 0,
      onStored: (outcomes, isFreed) => this.#onStored(outcomes, isFreed),
    });
    this.#requests = new Requests({
      ...deps,
      onOutcome: (outcome) => this.#finisher.add(outcome),
      onEnd: () => this.#wait.check(),
    });
    const openRequests = this.#requests.most;
    this.#limits = { leaseMs, organizationConcurrency, hostConcurrency, openRequests, webhookConcurrency };
    this.inline = {
      limits: this.#limits,
      room: () => this.#room(),
      isIdle: () => this.#isIdle && !this.#isWoken,
      exclusively: this.#exclusively,
      inFlight: this.#requests.inFlight,
      open: (tx, claims) => this.#webhooks.load((statement) => tx.query(statement), claims),
      start: (leases, committedMs) => this.#startInline(leases, committedMs),
      noteBlocked: (webhookIds) => this.#noteBlocked(webhookIds),
    };
    this.#running = this.#loop();
  }

  /** Claims immediately: a delivery may be due. */
  readonly wake = (): void => {
    this.#isWoken = true;
    this.#wait.check();
  };

  /** Claims nothing more, waits for the requests in flight, stores their outcomes. */
  async stop(): Promise<void> {
    const { graceMs } = this.#deps;
    this.#stopping.abort();
    this.#wait.check();
    await this.#running;
    // Waits for leasing transactions: their requests have started then, and nothing more is leased.
    await this.#exclusively(async () => undefined);
    await this.#requests.drain(graceMs);
    await settledWithin(graceMs, this.#finisher.drained());
  }

  async #loop(): Promise<void> {
    let least = 1;
    let foundNothing = false;
    for (let failures = 0; !this.#stopping.signal.aborted; ) {
      try {
        if (!this.#isWoken && !(await this.#isDue(foundNothing))) {
          foundNothing = false;
          continue;
        }
        // Under load a claim waits until enough slots are free to be worth its cost.
        await this.#wait.until(() => this.#room() >= least, busyPollMs);
        if (this.#room() === 0) continue;
        this.#isWoken = false;
        this.#busyAtMs = performance.now();
        const { taken, isMore } = await this.#round();
        failures = 0;
        foundNothing = taken === 0;
        least = isMore ? Math.ceil(this.#deps.concurrency / 4) : 1;
        this.#isWoken ||= isMore;
      } catch (err) {
        this.#deps.log.warn({ err }, "deliveries cannot be claimed now");
        await sleep(backoffMs(failures++, 100, 2_000), this.#stopping.signal);
      }
    }
  }

  /** Waits for the next delivery; returns whether to claim. */
  async #isDue(foundNothing: boolean): Promise<boolean> {
    if (foundNothing) {
      // Due deliveries may not be claimable yet: pause before the next check, and do not claim before it.
      await this.#waitForWake(busyPollMs);
      return false;
    }
    // The check only reads: an idle cluster writes nothing.
    const checkMs = performance.now() - this.#busyAtMs > idleAfterMs ? idlePollMs : pollMs;
    const pauseMs = await this.#deps.db.inOneBatch(who, (tx) => nextDueMs(tx, checkMs), { readOnly: true });
    await this.#waitForWake(pauseMs);
    return this.#isWoken || pauseMs < checkMs;
  }

  async #waitForWake(ms: number): Promise<void> {
    this.#isIdle = true;
    await this.#wait.until(() => this.#isWoken, ms);
    this.#isIdle = false;
  }

  /** One claim and its requests; returns their number, and whether another claim may find more. */
  async #round(): Promise<{ taken: number; isMore: boolean }> {
    const { leased, isFull } = await this.#exclusively(async () => {
      const most = this.#room();
      if (most === 0) return { leased: [], isFull: true };
      const found = await this.#claim(most);
      return { leased: found, isFull: found.length === most };
    });
    claimedCounter.inc(leased.length);
    const ofHook = new Map<string, number>();
    for (const each of leased) {
      const { webhook_id: id } = each.claim;
      ofHook.set(id, (ofHook.get(id) ?? 0) + 1);
      this.#requests.start(each);
    }
    // A claim takes few deliveries per webhook when many webhooks have some.
    return { taken: leased.length, isMore: isFull || Math.max(0, ...ofHook.values()) > 1 };
  }

  async #claim(most: number): Promise<Leased[]> {
    const { db } = this.#deps;
    const partners = this.#requests.partnerRooms(most);
    const { leases, blocked } = await claimDue(db, { most, partners, ...this.#limits });
    this.#blocked.clear();
    for (const key of blocked) this.#blocked.add(key);
    this.#finisher.hurry();
    // Already leased: only a webhook that is not cached in its present generation is read before the request.
    const claims = leases.map(({ claim }) => claim);
    await this.#webhooks.load((statement) => db.read(who, statement), claims);
    return leases.map(({ claim, payload }) => this.#leased(claim, payload));
  }

  #leased(claim: Claimed, payload: Leased["payload"]): Leased {
    return { claim, payload, webhook: this.#webhooks.get(claim.webhook_id) };
  }

  /** Number of deliveries that this process may lease now. */
  #room(): number {
    if (this.#stopping.signal.aborted || this.#finisher.isStuck) return 0;
    const unstored = 4 * this.#deps.concurrency - this.#finisher.waiting;
    return Math.max(0, Math.min(mostPerClaim, this.#requests.free, unstored));
  }

  #startInline(leases: readonly InlineLease[], committedMs: number): void {
    const leased = leases.map(({ claim, payload }) => this.#leased(claim, payload));
    if (performance.now() - committedMs > lateMs && leased.length > 0) void this.#confirm(leased);
    else this.#requests.startInline(leased);
  }

  /** The webhook may have been paused or changed, and that call answered, since its delivery was stored. */
  async #confirm(leased: readonly Leased[]): Promise<void> {
    const { db, log } = this.#deps;
    this.#requests.reserve(leased.length);
    try {
      const claims = leased.map(({ claim }) => claim);
      const confirmed = await db.tx(who, (tx) => confirmLeases(tx, claims));
      requeuedCounter.inc(leased.length - confirmed.size);
      this.#requests.startInline(leased.filter(({ claim }) => confirmed.has(claim.delivery_id)));
    } catch (err) {
      log.warn({ err, deliveries: leased.length }, "leases cannot be confirmed now: they expire");
    } finally {
      this.#requests.reserve(-leased.length);
      this.wake();
    }
  }

  #noteBlocked(webhookIds: Iterable<string>): void {
    for (const id of webhookIds) {
      // No outcome of this process will free a slot of it: a claim checks, and polls follow.
      if (!this.#blocked.has(id) && !this.#requests.isUnsettled(id)) this.wake();
      this.#blocked.add(id);
    }
    this.#finisher.hurry();
  }

  #frees({ claim }: Outcome): boolean {
    const { webhook_id: webhookId, org_id: orgId, partner_id: partnerId, host } = claim;
    const { size } = this.#blocked;
    return size > 0 && [webhookId, orgId, partnerId, host].some((key) => this.#blocked.has(key));
  }

  #onStored(outcomes: readonly Outcome[], isFreed: boolean): void {
    // Slots are free again; when no queued delivery waits for one of them, a claim would find nothing.
    if (isFreed) this.wake();
    else this.#wait.check();
    for (const { claim, next } of outcomes) {
      this.#requests.settle(claim.webhook_id);
      if (next.status !== "retrying" || next.delayMs >= farRetryMs) continue;
      const dueMs = performance.now() + next.delayMs;
      setTimeout(this.wake, next.delayMs + retryGridMs - (dueMs % retryGridMs)).unref();
    }
  }
}
