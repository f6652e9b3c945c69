import type { Database, Tx } from "@muster/db";
import {
  AppError,
  counter,
  createCounts,
  createRoundRobin,
  gauge,
  histogram,
  shareIn,
  systemCaller,
} from "@muster/kit";
import { type AgentLogEntry, maxAgentLogs } from "../rules/entries.ts";
import type { LogRequest } from "../rules/log-request.ts";
import { type Taken, takeRequests } from "./log-requests.ts";
import { appendAgentLogs, type Batch } from "./logs.ts";

/**
 * Rows of one statement, and rows that may wait; beyond it requests are refused. A statement has more rows when its
 * last request has more than 500, as those of OTLP may.
 */
const defaults = { flushRows: 4_000, waitingRows: 100_000 };
/** One flush is written while the next one gathers. */
const maxConcurrentFlushes = 2;

const rowsCounter = counter("muster_device_logs_rows_stored_total", "Diagnostic log rows stored.");
const flushRows = histogram(
  "muster_device_logs_insert_batch_rows",
  "Rows of one insert.",
  [],
  [1, 10, 50, 100, 500, 1_000, 2_000, 4_000],
);
const repeats = counter("muster_device_logs_repeats_total", "Requests with diagnostic logs that were stored before.");
const waitingGauge = gauge("muster_device_logs_rows_queued", "Rows that wait for the next insert.");

const conflict = () => new AppError("idempotency_conflict", "The Idempotency-Key was used for another request");

type Logs = Batch<AgentLogEntry> & { request: LogRequest };
type Waiting = { logs: Logs; done(): void; failed(error: unknown): void };

export type Appender = {
  /**
   * Resolves when all of these rows are committed, by this request or by the one that it repeats. Throws
   * `idempotency_conflict` when its key is another body's, `overloaded` when too many wait, also when their
   * organization has its fair share: docs/concepts.md#fair-share; and the database's errors.
   */
  append(logs: Logs): Promise<void>;
};

/**
 * Batches the entries of many requests into one insert: those that arrive while inserts are in flight go with the next
 * one. Organizations are served round-robin. Rows carry their own tenant, taken from the caller of their request.
 */
export function logAppender(
  db: Database,
  { flushRows: maxFlushRows, waitingRows: maxWaitingRows } = defaults,
): Appender {
  const queue = createRoundRobin<Waiting>();
  /** Rows by organization. */
  const waiting = createCounts();
  let flushes = 0;
  const write = async (logs: readonly Logs[]): Promise<Taken[]> => {
    const store = async (tx: Tx) => {
      const taken = await takeRequests(tx, logs);
      const fresh = logs.filter((_, at) => taken[at] === "new");
      return { taken, rows: fresh.length === 0 ? 0 : await appendAgentLogs(tx, fresh) };
    };
    const { taken, rows } = await db.tx({ caller: systemCaller("device-logs") }, store, { retry: true });
    rowsCounter.inc(rows);
    flushRows.observe(rows);
    repeats.inc(taken.filter((each) => each === "repeat").length);
    return taken;
  };

  const flush = async (batch: Waiting[]): Promise<void> => {
    try {
      const taken = await write(batch.map(({ logs }) => logs));
      for (const [at, { done, failed }] of batch.entries()) {
        if (taken[at] === "conflict") failed(conflict());
        else done();
      }
    } catch (error) {
      const [only] = batch;
      if (batch.length === 1 && only) return only.failed(error);
      // An unavailable database fails all requests; any other error may be due to one request, and must not fail the
      // others.
      if (error instanceof AppError) for (const { failed } of batch) failed(error);
      else for (const one of batch) await flush([one]);
    }
  };

  const begin = (): void => {
    while (flushes < maxConcurrentFlushes && queue.size > 0) {
      const batch: Waiting[] = [];
      let rows = 0;
      // Each request goes as a whole.
      while (rows === 0 || rows + maxAgentLogs <= maxFlushRows) {
        const next = queue.next();
        if (next === undefined) break;
        const { owner, entries } = next.logs;
        batch.push(next);
        rows += entries.length;
        waiting.add(owner.orgId, -entries.length);
      }
      flushes += 1;
      void flush(batch).finally(() => {
        flushes -= 1;
        begin();
      });
    }
    waitingGauge.set(waiting.total);
  };

  return {
    append(logs) {
      const { length } = logs.entries;
      if (length === 0) return Promise.resolve();
      const { orgId } = logs.owner;
      if (waiting.of(orgId) + length > shareIn(waiting, orgId, maxWaitingRows)) {
        return Promise.reject(
          new AppError("overloaded", "Too many log entries wait to be stored", { retryAfterSeconds: 2 }),
        );
      }
      return new Promise((resolve, reject) => {
        queue.add(orgId, { logs, done: resolve, failed: reject });
        waiting.add(orgId, length);
        begin();
      });
    },
  };
}
