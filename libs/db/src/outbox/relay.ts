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
  const { db, transport, wakeUp, log, pollMs = 500, readBackMs = 30_000, idleAfterMs = 10_000 } = options;
  const metrics = relayMetrics(db.name);
  const store = relayStore(db, randomUUID());
  const lease = createRelayLease(store, log, () => metrics.backlog({ rows: 0, oldestSeconds: 0 }));
  const readBack = createReadBack((stream, seq) => transport.lookup(stream, seq));
  const failures = createPublishFailures(pollMs);
  const readBackDue = every(readBackMs);
  const cleanDue = every(cleanMs);
  const backlogDue = every(backlogMs);
  const pauses = createPauses();
  const schedule = createSchedule(store, metrics.throttled);

  let loadedFence: number | null = null;
  let workedMs = performance.now();
  // The lease is free since this relay returned it: the first emitter takes it.
  let isVacant = false;

  const repairStreams = async (fence: number): Promise<void> => {
    if (readBackDue()) readBack.pin();
    if (!readBack.isDue) return;
    let broken: StreamPosition[];
    try {
      broken = await readBack.broken();
    } catch (err) {
      log.warn({ err }, "cannot read back the newest promised message, trying again");
      return;
    }
    for (const { stream, seq } of broken) {
      const rows = await store.unmark(fence, stream);
      readBack.forget(stream);
      metrics.republished(stream, rows);
      log.error({ stream, seq, rows }, "the stream lost acknowledged messages: publishing again");
    }
  };

  /** Publishes one batch; true when another may follow at once. */
  const publish = async (fence: number): Promise<boolean> => {
    const batch = await schedule.next(batchRows, failures.pausedRoots());
    if (batch.rows.length > 0) workedMs = performance.now();
    const rows = batch.rows.filter((row) => failures.mayTry(row.id));
    if (rows.length === 0) return false;
    const acked: (OutboxRow & StreamPosition)[] = [];
    const failed: { row: OutboxRow; error: unknown }[] = [];
    // Sent in this order without waiting in between; the acknowledgements may come in any.
    await Promise.all(
      rows.map(async (row) => {
        try {
          const { subject, msgId, body, traceparent } = row;
          acked.push({ ...row, ...(await transport.publish({ subject, msgId, body, traceparent })) });
        } catch (error) {
          failed.push({ row, error });
        }
      }),
    );
    acked.sort((a, b) => a.id - b.id);
    if (acked.length > 0 && !(await store.mark(fence, acked))) {
      lease.lose();
      return false;
    }
    for (const position of acked) readBack.note(position);
    metrics.published(acked.length);

    const { bury, pausing } = failures.settle(acked, failed);
    for (const { root, error } of pausing) log.warn({ err: error, root }, "messages wait: no stream takes them now");
    for (const { row, error, attempts } of bury) {
      if (!(await store.bury(fence, row, error instanceof Error ? error.message : String(error), attempts))) break;
      failures.buried(row.id);
      metrics.buried();
      log.error({ err: error, subject: row.subject, msgId: row.msgId }, "message is a dead letter: no stream takes it");
    }
    batch.done();
    return acked.length > 0 && batch.more;
  };

  /**
   * Whether there is work that needs the lease; at the start there always is: messages may have been lost while no
   * relay ran. Reads only.
   */
  const isNeeded = async (): Promise<boolean> => {
    if (loadedFence === null || (await store.isAnyWaiting())) return true;
    if (cleanDue() && (await store.isAnyExpired())) return true;
    if (readBackDue()) readBack.pin();
    return readBack.isDue && (await readBack.broken()).length > 0;
  };

  /** After a wake-up there is work: checking for it would take as long as taking the lease. */
  const takeLease = async (isWoken: boolean): Promise<number | null> => {
    if (!(isWoken && isVacant) && !(await isNeeded())) {
      metrics.worked();
      return null;
    }
    const fence = await lease.take();
    // Another relay took it meanwhile, and may not know of what is waiting.
    if (fence === null && isWoken) wakeUp?.notify();
    isVacant = false;
    workedMs = performance.now();
    return fence;
  };

  const round = async (isWoken: boolean): Promise<boolean> => {
    const fence = lease.fence() ?? (await takeLease(isWoken));
    if (fence === null) return false;
    if (fence !== loadedFence) {
      // When no other relay held the lease meanwhile, the newest promises are the known ones.
      if (loadedFence === null || fence !== loadedFence + 1) readBack.load(await store.newestPublished());
      loadedFence = fence;
    }
    await repairStreams(fence);
    const more = await publish(fence);
    metrics.worked();
    if (cleanDue() && (await store.isAnyExpired())) while (!pauses.stopped() && (await store.clean()));
    if (backlogDue()) metrics.backlog(await store.backlog());
    if (!more && performance.now() - workedMs > idleAfterMs && !readBack.isDue) {
      await lease.giveBack();
      isVacant = true;
      metrics.backlog({ rows: 0, oldestSeconds: 0 });
    }
    return more;
  };

  const run = async (): Promise<void> => {
    for (let errors = 0; !pauses.stopped(); ) {
      const startedMs = performance.now();
      const isWoken = pauses.takeWakeUp();
      try {
        const more = await round(isWoken);
        errors = 0;
        // While another relay holds the lease only the poll tries to take it: a busy service would try at each
        // of its commits.
        const nextPollMs = isVacant ? Math.max(pollMs, idlePollMs) : pollMs;
        const idleMs = Math.min(nextPollMs * (0.8 + 0.4 * Math.random()), schedule.throttledMs());
        if (more) continue;
        await pauses.wait(startedMs + gapMs - performance.now(), { wakeable: false });
        await pauses.wait(idleMs, { wakeable: isVacant || lease.fence() !== null });
      } catch (err) {
        log.warn({ err }, "relay round failed, trying again");
        await pauses.wait(backoffMs(errors++, pollMs, maxBackoffMs), { wakeable: false });
      }
    }
  };

  db.onEmit(() => {
    pauses.wake();
    if (!isVacant && lease.fence() === null) wakeUp?.notify();
  });
  const listening = wakeUp?.listen(pauses.wake);
  transport.onReconnect(() => {
    readBack.pin();
    failures.resume();
    pauses.wake();
  });
  const ended = run();

  return {
    wake: pauses.wake,
    async stop() {
      listening?.stop();
      pauses.stop();
      await ended;
      await lease.release();
    },
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
