import { randomUUID } from "node:crypto";
import { backoffMs, type Logger } from "@muster/kit";
import type { Database } from "../client/database.ts";
import { createPublishFailures } from "./publish-failures.ts";
import { createReadBack } from "./read-back.ts";
import { createRelayLease } from "./relay-lease.ts";
import { relayMetrics } from "./relay-metrics.ts";
import { createSchedule } from "./relay-schedule.ts";
import { type OutboxRow, relayStore, type StreamPosition } from "./relay-store.ts";

export type Promised = { stream: string; created: string; seq: number };

/**
 * The bus as the relay needs it. AppError `permission_denied` or `validation_failed` from `publish` means that a repeat
 * never helps.
 */
export type OutboxTransport = {
  publish(message: { subject: string; msgId: string; body: Uint8Array; traceparent: string | null }): Promise<Promised>;
  /** The message at that position now: `created` of the stream, and null where there is no message. */
  lookup(stream: string, seq: number): Promise<{ created: string; msgId: string | null }>;
  onReconnect(listener: () => void): void;
};

/** Wakes relays of the same schema in other processes; what it sends may be lost. */
export type OutboxWakeUp = {
  notify(): void;
  /** Calls `onWakeUp` when another process notified, until stopped. */
  listen(onWakeUp: () => void): { stop(): void };
};

export type RelayOptions = {
  db: Database;
  transport: OutboxTransport;
  /** Without it the messages of a process whose relay is not the active one wait for the active one's next poll. */
  wakeUp?: OutboxWakeUp;
  log: Logger;
  pollMs?: number;
  /** Milliseconds between two checks of the newest promise. */
  readBackMs?: number;
  /** Milliseconds without work after which the lease is returned. */
  idleAfterMs?: number;
};

export type Relay = {
  /** Checks for messages now. Called automatically after each COMMIT of `db` that emitted. */
  wake(): void;
  /** Ends after the present round and returns the lease. */
  stop(): Promise<void>;
};

const batchRows = 256;
/**
 * Shortest time from the start of one round to the start of the next, unless more is known to wait: messages that
 * arrive in between go together.
 */
const gapMs = 10;
const cleanMs = 30_000;
const backlogMs = 5_000;
const maxBackoffMs = 5_000;
/** Pause between checks of a relay that returned its lease: it only reads, so that an idle cluster writes nothing. */
const idlePollMs = 5_000;

/**
 * Publishes the outbox of a schema, each partition (an organization's events, a partition's audit rows) in the order of
 * its ids, at least once. Of all relays of the schema one is active. A message is marked when the stream has
 * acknowledged it and published again should the stream lose it within 10 minutes.
 */
export function startRelay(options: RelayOptions): Relay {
  return new Publisher(options);
}

class Publisher implements Relay {
  readonly #transport: RelayOptions["transport"];
  readonly #wakeUp: RelayOptions["wakeUp"];
  readonly #log: RelayOptions["log"];
  readonly #pollMs: NonNullable<RelayOptions["pollMs"]>;
  readonly #idleAfterMs: NonNullable<RelayOptions["idleAfterMs"]>;
  readonly #metrics: ReturnType<typeof relayMetrics>;
  readonly #store: ReturnType<typeof relayStore>;
  readonly #lease: ReturnType<typeof createRelayLease>;
  readonly #readBack: ReturnType<typeof createReadBack>;
  readonly #failures: ReturnType<typeof createPublishFailures>;
  readonly #readBackDue: ReturnType<typeof every>;
  readonly #cleanDue = every(cleanMs);
  readonly #backlogDue = every(backlogMs);
  readonly #pauses = createPauses();
  readonly #schedule: ReturnType<typeof createSchedule>;
  #loadedFence: number | null = null;
  #workedMs = performance.now();
  // The lease is free since this relay returned it: the first emitter takes it.
  #isVacant = false;
  readonly #listening;
  readonly #ended: Promise<void>;
  readonly wake: Relay["wake"];

  constructor(options: RelayOptions) {
    const { db, transport, wakeUp, log, pollMs = 500, readBackMs = 30_000, idleAfterMs = 10_000 } = options;
    this.#transport = transport;
    this.#wakeUp = wakeUp;
    this.#log = log;
    this.#pollMs = pollMs;
    this.#idleAfterMs = idleAfterMs;
    this.#metrics = relayMetrics(db.name);
    this.#store = relayStore(db, randomUUID());
    this.#lease = createRelayLease(this.#store, this.#log, () => this.#metrics.backlog({ rows: 0, oldestSeconds: 0 }));
    this.#readBack = createReadBack((stream, seq) => this.#transport.lookup(stream, seq));
    this.#failures = createPublishFailures(this.#pollMs);
    this.#readBackDue = every(readBackMs);
    this.#schedule = createSchedule(this.#store, this.#metrics.throttled);
    db.onEmit(() => {
      this.#pauses.wake();
      if (!this.#isVacant && this.#lease.fence() === null) this.#wakeUp?.notify();
    });
    this.#listening = this.#wakeUp?.listen(this.#pauses.wake);
    this.#transport.onReconnect(() => {
      this.#readBack.pin();
      this.#failures.resume();
      this.#pauses.wake();
    });
    this.#ended = this.#run();
    this.wake = this.#pauses.wake;
  }

  async #repairStreams(fence: number): Promise<void> {
    if (this.#readBackDue()) this.#readBack.pin();
    if (!this.#readBack.isDue) return;
    let broken: StreamPosition[];
    try {
      broken = await this.#readBack.broken();
    } catch (err) {
      this.#log.warn({ err }, "cannot read back the newest promised message, trying again");
      return;
    }
    for (const { stream, seq } of broken) {
      const rows = await this.#store.unmark(fence, stream);
      this.#readBack.forget(stream);
      this.#metrics.republished(stream, rows);
      this.#log.error({ stream, seq, rows }, "the stream lost acknowledged messages: publishing again");
    }
  }

  /** Publishes one batch; true when another may follow at once. */
  async #publish(fence: number): Promise<boolean> {
    const batch = await this.#schedule.next(batchRows, this.#failures.pausedRoots());
    if (batch.rows.length > 0) this.#workedMs = performance.now();
    const rows = batch.rows.filter((row) => this.#failures.mayTry(row.id));
    if (rows.length === 0) return false;
    const acked: (OutboxRow & StreamPosition)[] = [];
    const failed: { row: OutboxRow; error: unknown }[] = [];
    // Sent in this order without waiting in between; the acknowledgements may come in any.
    await Promise.all(
      rows.map(async (row) => {
        try {
          const { subject, msgId, body, traceparent } = row;
          acked.push({ ...row, ...(await this.#transport.publish({ subject, msgId, body, traceparent })) });
        } catch (error) {
          failed.push({ row, error });
        }
      }),
    );
    acked.sort((a, b) => a.id - b.id);
    if (acked.length > 0 && !(await this.#store.mark(fence, acked))) {
      this.#lease.lose();
      return false;
    }
    for (const position of acked) this.#readBack.note(position);
    this.#metrics.published(acked.length);

    const { bury, pausing } = this.#failures.settle(acked, failed);
    for (const { root, error } of pausing)
      this.#log.warn({ err: error, root }, "messages wait: no stream takes them now");
    for (const { row, error, attempts } of bury) {
      if (!(await this.#store.bury(fence, row, error instanceof Error ? error.message : String(error), attempts)))
        break;
      this.#failures.buried(row.id);
      this.#metrics.buried();
      this.#log.error(
        { err: error, subject: row.subject, msgId: row.msgId },
        "message is a dead letter: no stream takes it",
      );
    }
    batch.done();
    return acked.length > 0 && batch.more;
  }

  /**
   * Whether there is work that needs the lease; at the start there always is: messages may have been lost while no
   * relay ran. Reads only.
   */
  async #isNeeded(): Promise<boolean> {
    if (this.#loadedFence === null || (await this.#store.isAnyWaiting())) return true;
    if (this.#cleanDue() && (await this.#store.isAnyExpired())) return true;
    if (this.#readBackDue()) this.#readBack.pin();
    return this.#readBack.isDue && (await this.#readBack.broken()).length > 0;
  }

  /** After a wake-up there is work: checking for it would take as long as taking the lease. */
  async #takeLease(isWoken: boolean): Promise<number | null> {
    if (!(isWoken && this.#isVacant) && !(await this.#isNeeded())) {
      this.#metrics.worked();
      return null;
    }
    const fence = await this.#lease.take();
    // Another relay took it meanwhile, and may not know of what is waiting.
    if (fence === null && isWoken) this.#wakeUp?.notify();
    this.#isVacant = false;
    this.#workedMs = performance.now();
    return fence;
  }

  async #round(isWoken: boolean): Promise<boolean> {
    const fence = this.#lease.fence() ?? (await this.#takeLease(isWoken));
    if (fence === null) return false;
    if (fence !== this.#loadedFence) {
      // When no other relay held the lease meanwhile, the newest promises are the known ones.
      if (this.#loadedFence === null || fence !== this.#loadedFence + 1)
        this.#readBack.load(await this.#store.newestPublished());
      this.#loadedFence = fence;
    }
    await this.#repairStreams(fence);
    const more = await this.#publish(fence);
    this.#metrics.worked();
    if (this.#cleanDue() && (await this.#store.isAnyExpired()))
      while (!this.#pauses.stopped() && (await this.#store.clean()));
    if (this.#backlogDue()) this.#metrics.backlog(await this.#store.backlog());
    if (!more && performance.now() - this.#workedMs > this.#idleAfterMs && !this.#readBack.isDue) {
      await this.#lease.giveBack();
      this.#isVacant = true;
      this.#metrics.backlog({ rows: 0, oldestSeconds: 0 });
    }
    return more;
  }

  async #run(): Promise<void> {
    for (let errors = 0; !this.#pauses.stopped(); ) {
      const startedMs = performance.now();
      const isWoken = this.#pauses.takeWakeUp();
      try {
        const more = await this.#round(isWoken);
        errors = 0;
        // While another relay holds the lease only the poll tries to take it: a busy service would try at each
        // of its commits.
        const nextPollMs = this.#isVacant ? Math.max(this.#pollMs, idlePollMs) : this.#pollMs;
        const idleMs = Math.min(nextPollMs * (0.8 + 0.4 * Math.random()), this.#schedule.throttledMs());
        if (more) continue;
        await this.#pauses.wait(startedMs + gapMs - performance.now(), { wakeable: false });
        await this.#pauses.wait(idleMs, { wakeable: this.#isVacant || this.#lease.fence() !== null });
      } catch (err) {
        this.#log.warn({ err }, "relay round failed, trying again");
        await this.#pauses.wait(backoffMs(errors++, this.#pollMs, maxBackoffMs), { wakeable: false });
      }
    }
  }

  readonly stop = async (): Promise<void> => {
    this.#listening?.stop();
    this.#pauses.stop();
    await this.#ended;
    await this.#lease.release();
  };
}

/** Pauses that a wake-up ends, also one that came before the pause began. */
function createPauses() {
  let stopped = false;
  let woken = false;
  let interrupt: (() => void) | undefined;
  return {
    stopped: () => stopped,
    /** Whether a wake-up came since the last call. */
    takeWakeUp(): boolean {
      const wasWoken = woken;
      woken = false;
      return wasWoken;
    },
    wake() {
      woken = true;
      interrupt?.();
    },
    stop() {
      stopped = true;
      interrupt?.();
    },
    async wait(ms: number, { wakeable }: { wakeable: boolean }): Promise<void> {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        interrupt = () => {
          if (!stopped && !(wakeable && woken)) return;
          clearTimeout(timer);
          resolve();
        };
        interrupt();
      });
      interrupt = undefined;
    },
  };
}

/** Returns true at most once per `ms`, the first time after `ms`. */
function every(ms: number): () => boolean {
  let lastMs = performance.now();
  return () => {
    if (performance.now() - lastMs < ms) return false;
    lastMs = performance.now();
    return true;
  };
}
