import type { Database } from "@muster/db";
import { backoffMs, counter, createCounts, type Logger, sleep, systemCaller } from "@muster/kit";
import type { Outcome } from "../store/outcomes.ts";
import type { HealthChange, HealthLimits } from "../store/webhook-state.ts";
import { storeOutcomes } from "./store-outcomes.ts";

export type FinisherDeps = {
  db: Database;
  log: Logger;
  now: () => Date;
  limits: HealthLimits;
  /** Most requests in flight of one organization. */
  organizationConcurrency: number;
  /** Whether a queued delivery waits for a slot that this outcome frees. */
  frees: (outcome: Outcome) => boolean;
  /** No request is in flight: no further outcome could join the batch. */
  isQuiet: () => boolean;
  /** Called with the outcomes of each stored batch, and whether any of them freed a slot that a delivery waits for. */
  onStored: (outcomes: readonly Outcome[], isFreed: boolean) => void;
};

const batchMax = 256;
/** Longest wait of an outcome for others in milliseconds, while none of them frees a slot that a delivery waits for. */
const batchMs = 100;
/**
 * Longest wait in milliseconds of an outcome that frees a slot: other outcomes of the event join; no wait when no
 * request is in flight.
 */
const urgentBatchMs = 4;
/** Most concurrent batches; rows that two of them touch are locked in one order. */
const storesMax = 2;
/**
 * Outcomes from which a batch is stored although another one is being stored; any number when the database refused that
 * one.
 */
const besideMin = 128;
const who = { caller: systemCaller("webhook-dispatcher") };

const attemptsCounter = counter("muster_webhook_dispatcher_attempts_total", "Attempts, by outcome.", ["outcome"]);
const breakerCounter = counter(
  "muster_webhook_dispatcher_breaker_opened_total",
  "Times that a webhook's breaker opened.",
);

/** Stores outcomes in batches, and retries until the database accepts them: an outcome is never dropped. */
export class Finisher {
  readonly #deps: FinisherDeps;
  readonly #pending: Outcome[] = [];
  /** Number of pending outcomes by webhook and by organization: each holds a slot. */
  #holding = createCounts();
  /** Pending outcomes hold half of the slots of a webhook or an organization. */
  #isCrowded = false;
  /** A pending outcome frees a slot that a delivery waits for. */
  #isUrgent = false;
  #stores = 0;
  #storing = 0;
  #isStuck = false;
  #timer: NodeJS.Timeout | undefined;
  #onDrained: (() => void) | null = null;

  constructor(deps: FinisherDeps) {
    this.#deps = deps;
  }

  add(outcome: Outcome): void {
    this.#pending.push(outcome);
    this.#hold(outcome);
    if (!this.#isUrgent && this.#deps.frees(outcome)) this.#becomeUrgent();
    if (this.#pending.length >= batchMax || this.#isCrowded) this.#flush();
    else if (this.#stores === 0) this.#flushSoon();
  }

  /** The results of `frees` changed: stores pending outcomes immediately if one of them frees a slot. */
  hurry(): void {
    if (this.#isUrgent || !this.#pending.some(this.#deps.frees)) return;
    this.#becomeUrgent();
    this.#flush();
  }

  /** Outcomes that are not stored yet. */
  get waiting(): number {
    return this.#pending.length + this.#storing;
  }

  /** The last batch could not be stored: claim nothing meanwhile. */
  get isStuck(): boolean {
    return this.#isStuck;
  }

  /** Resolves when everything added before is stored. */
  drained(): Promise<void> {
    const drained = new Promise<void>((resolve) => {
      this.#onDrained = resolve;
    });
    this.#flush();
    return drained;
  }

  /**
   * Outcomes that arrive while batches are being stored wait and go together: a transaction costs as much as dozens of
   * rows.
   */
  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#pending.length > 0 && this.#mayStore()) {
      void this.#store(this.#pending.splice(0, batchMax));
      this.#holding = createCounts();
      this.#isCrowded = false;
      this.#isUrgent = this.#pending.some(this.#deps.frees);
    }
    if (this.#pending.length === 0 && this.#stores === 0) this.#onDrained?.();
  }

  #mayStore(): boolean {
    if (this.#stores === 0) return true;
    return this.#stores < storesMax && (this.#isStuck || this.#pending.length >= besideMin);
  }

  #hold({ claim }: Outcome): void {
    const { limits, organizationConcurrency } = this.#deps;
    this.#holding.add(claim.webhook_id, 1);
    this.#holding.add(claim.org_id, 1);
    this.#isCrowded ||=
      this.#holding.of(claim.webhook_id) * 2 >= limits.webhookConcurrency ||
      this.#holding.of(claim.org_id) * 2 >= organizationConcurrency;
  }

  #becomeUrgent(): void {
    this.#isUrgent = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #flushSoon(): void {
    if (this.#isUrgent && this.#deps.isQuiet()) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), this.#isUrgent ? urgentBatchMs : batchMs);
  }

  async #store(batch: readonly Outcome[]): Promise<void> {
    const { db, log, limits, now } = this.#deps;
    this.#stores += 1;
    this.#storing += batch.length;
    for (let attempt = 0; ; attempt++) {
      try {
        const { changes } = await db.tx(who, (tx) => storeOutcomes(tx, batch, limits, now), { retry: true });
        this.#noteOpened(await changes);
        break;
      } catch (err) {
        this.#isStuck = true;
        log.warn({ err, outcomes: batch.length }, "outcomes cannot be stored now, trying again");
        await sleep(backoffMs(attempt, 50, 2_000));
      }
    }
    this.#isStuck = false;
    this.#stores -= 1;
    this.#storing -= batch.length;
    this.#stored(batch);
  }

  #stored(batch: readonly Outcome[]): void {
    const { frees, onStored } = this.#deps;
    for (const { next } of batch) attemptsCounter.inc({ outcome: next.status });
    onStored(batch, batch.some(frees));
    const count = this.#pending.length;
    if (count === 0 && this.#stores === 0) this.#onDrained?.();
    else if (count >= besideMin || this.#isCrowded || this.#isUrgent || this.#onDrained !== null) this.#flush();
    else if (count > 0) this.#flushSoon();
  }

  #noteOpened(changes: readonly HealthChange[]): void {
    const opened = changes.filter((change) => change.opened);
    breakerCounter.inc(opened.length);
    if (opened.length === 0) return;
    this.#deps.log.warn({ webhooks: opened.map((change) => change.webhook_id) }, "breaker opened");
  }
}
