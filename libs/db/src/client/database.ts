import { backoffMs, histogram, type Logger, messageOf, sleep } from "@muster/kit";
import type { PoolClient } from "pg";
import { createEmissionRate } from "./emission-rate.ts";
import { deadlineExceeded, isReadOnlyRefusal, isRepeatable, publicFailure } from "./failures.ts";
import { openPool } from "./pool.ts";
import { carriesPrepared } from "./prepared-statements.ts";
import { connectionOwner, remainingMs, settingsQuery, type Who } from "./settings.ts";
import { type Statement, sql } from "./statement.ts";
import { type OpenTransaction, openTransaction, type Tx } from "./transaction.ts";

const txSeconds = histogram(
  "muster_db_transaction_duration_seconds",
  "Duration of transactions, waiting for a connection included.",
  ["database", "outcome"],
);

export type TxOptions = {
  /** The database refuses every write. */
  readOnly?: boolean;
  /** Read-only, and every statement sees what the first one saw. */
  snapshot?: boolean;
  /** Runs `fn` again, three times in all, after a serialization failure or a deadlock. */
  retry?: boolean;
};

type RunOptions = TxOptions & { inOneBatch?: boolean };

export type Database = {
  name: string;
  /**
   * Runs `fn` in one transaction as `who`: committed when it resolves, undone when it throws. Throws AppError
   * `overloaded` after 2 s without a free connection, `unavailable` when the database is away, `deadline_exceeded` past
   * the deadline. Heavy emitters are throttled: their result comes up to 250 ms after COMMIT. Owners (organization,
   * partner, platform user) get connections round-robin, and reads of one leave some to the others; the service's own
   * transactions have every second turn.
   */
  tx<T>(who: Who, fn: (t: Tx) => Promise<T>, options?: TxOptions): Promise<T>;
  /**
   * As `tx`, but the statements that `fn` issues before its first await are the transaction: they are sent and answered
   * together. That saves half of the round trips, and other transactions wait for its locks only while the server
   * works, never for this process. A statement that is issued later is an error.
   */
  inOneBatch<T>(who: Who, fn: (t: Tx) => Promise<T>, options?: TxOptions): Promise<T>;
  /** The rows of one statement in a separate read-only transaction, in one batch; throws as `tx` does. */
  read<R>(who: Who, statement: Statement): Promise<R[]>;
  /** The rows of each statement, from one read-only transaction in one batch; throws as `tx` does. */
  readAll<Rows extends readonly unknown[]>(
    who: Who,
    statements: { readonly [I in keyof Rows]: Statement },
  ): Promise<{ [I in keyof Rows]: Rows[I][] }>;
  /**
   * Opens all connections of the pool, as far as available: a process that has just started is busy, and a caller that
   * waited for a connection to be opened then could wait in vain.
   */
  warmUp(): Promise<void>;
  /** "ok", or what is wrong. */
  check(): Promise<string>;
  /** Waits for running transactions, then disconnects. */
  close(): Promise<void>;
  /** Calls `listener` after each COMMIT of a transaction that emitted. */
  onEmit(listener: () => void): void;
};

export type DatabaseOptions = {
  url: string;
  max: number;
  name: string;
  log: Logger;
  /**
   * Prepare statements on each connection; "auto" (the default) finds out whether the server or pooler at the address
   * supports them.
   */
  prepare?: boolean | "auto";
  /** The address of a standby: transactions there are read-only, and see the primary's changes a little later. */
  standby?: boolean;
};

const checkTimeoutMs = 2_000;
const attempts = 3;
/** The server cancels a statement; a server that neither cancelled nor answered by then is considered dead. */
const silenceGraceMs = 2_000;

/** A pool of connections as the unprivileged role of `url`; nothing is connected before the first transaction. */
export function openDatabase(options: DatabaseOptions): Database {
  return new PooledDatabase(options);
}

class PooledDatabase implements Database {
  readonly #log: DatabaseOptions["log"];
  readonly #pool: ReturnType<typeof openPool>;
  readonly #listeners: (() => void)[] = [];
  readonly #pace = createEmissionRate();
  #prepared: NonNullable<DatabaseOptions["prepare"]>;
  readonly name: Database["name"];

  constructor({ url, max, name, log, prepare = "auto", standby }: DatabaseOptions) {
    this.#log = log;
    this.#pool = openPool({ url, max, name, log, ...(standby === undefined ? {} : { standby }) });
    this.#prepared = prepare;
    this.name = name;
  }

  async #once<T>(who: Who, fn: (t: Tx) => Promise<T>, options: RunOptions): Promise<{ result: T; emitted: number }> {
    if (remainingMs(who) <= 0) throw deadlineExceeded();
    // Of an owner's transactions those that write are short: they are served round-robin, too, and leave one connection
    // to others.
    const short = !(options.readOnly || options.snapshot);
    const client = await this.#pool.connect({ owner: connectionOwner(who), short });
    const timeoutMs = remainingMs(who);
    if (timeoutMs <= 0) {
      this.#pool.release(client);
      throw deadlineExceeded();
    }
    let transaction: OpenTransaction | undefined;
    let result: T;
    try {
      if (this.#prepared === "auto") {
        this.#prepared = await carriesPrepared(client);
        if (!this.#prepared) this.#log.info("a pooler stands before the database: statements are not prepared");
      }
      const begin = beginOf(options);
      const settings = settingsQuery(who, timeoutMs, begin === null && options.readOnly);
      transaction = openTransaction(client, settings, {
        begin,
        prepare: this.#prepared,
        silentMs: timeoutMs + silenceGraceMs,
        traceparent: who.meta?.traceparent ?? null,
      });
      result = await fn(transaction.tx);
      await transaction.commit();
    } catch (error) {
      this.#giveBack(client, transaction?.undo() ?? null, error);
      throw error;
    }
    this.#pool.release(client);
    const emitted = transaction.emitted();
    if (emitted > 0) for (const listener of this.#listeners) listener();
    return { result, emitted };
  }

  /** A refusal is no reason to reconnect, which costs the server a process and both sides a key derivation. */
  #giveBack(client: PoolClient, undone: Promise<boolean> | null, error: unknown): void {
    if (undone === null) this.#pool.release(client, error);
    else void undone.then((isUndone) => this.#pool.release(client, isUndone ? undefined : error));
  }

  readonly tx = async <T>(who: Who, fn: (t: Tx) => Promise<T>, options: RunOptions = {}): Promise<T> => {
    const startedMs = performance.now();
    const done = (outcome: "commit" | "rollback") =>
      txSeconds.observe({ database: this.name, outcome }, (performance.now() - startedMs) / 1000);
    for (let attempt = 0; ; attempt++) {
      try {
        const { result, emitted } = await this.#once(who, fn, options);
        done("commit");
        // This wait neither counts as part of the transaction's duration nor holds its connection.
        const waitMs = emitted > 0 ? Math.min(this.#pace.emitted(emitted), remainingMs(who) / 2) : 0;
        if (waitMs >= 1) await sleep(waitMs);
        return result;
      } catch (error) {
        if (options.retry && attempt + 1 < attempts && isRepeatable(error)) {
          await sleep(backoffMs(attempt, 20, 200));
          continue;
        }
        done("rollback");
        // A write in a transaction requested as read-only is a mistake of ours, and no sign of a demoted server.
        throw (options.readOnly || options.snapshot) && isReadOnlyRefusal(error) ? error : publicFailure(error);
      }
    }
  };

  readonly inOneBatch = async <T>(who: Who, fn: (t: Tx) => Promise<T>, options?: TxOptions): Promise<T> => {
    // Not awaited inside: its statements are sent only after it, and their failure is reported by the batch.
    const { returned } = await this.tx(who, async (t) => ({ returned: observed(fn(t)) }), {
      ...options,
      inOneBatch: true,
    });
    return await returned;
  };

  readonly readAll = async <Rows extends readonly unknown[]>(
    who: Who,
    statements: { readonly [I in keyof Rows]: Statement },
  ): Promise<{ [I in keyof Rows]: Rows[I][] }> => {
    const sendAll = (t: Tx) => Promise.all(statements.map((statement) => t.query(statement)));
    return (await this.inOneBatch(who, sendAll, { readOnly: true })) as { [I in keyof Rows]: Rows[I][] };
  };

  readonly read = async <R>(who: Who, statement: Statement): Promise<R[]> => {
    const [rows] = await this.readAll<[R]>(who, [statement]);
    return rows;
  };

  readonly warmUp = (): Promise<void> => {
    return this.#pool.fill();
  };

  readonly check = async (): Promise<string> => {
    try {
      await this.tx({ caller: null, deadlineMs: performance.now() + checkTimeoutMs }, (t) => t.query(sql`select 1`));
      return "ok";
    } catch (error) {
      return messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
    }
  };

  readonly close = (): Promise<void> => {
    return this.#pool.close();
  };

  readonly onEmit = (listener: () => void): void => {
    void this.#listeners.push(listener);
  };
}

/** Null for a transaction that is one batch; the isolation level cannot be set within it. */
function beginOf({ snapshot, readOnly, inOneBatch }: RunOptions): string | null {
  if (snapshot) return "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
  if (inOneBatch) return null;
  return readOnly ? "BEGIN READ ONLY" : "BEGIN";
}

/** The same promise, whose rejection another caller reports. */
function observed<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
