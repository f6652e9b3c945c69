import { endSpan, errorOf, SpanKind, startSampledChild } from "@muster/kit";
import type { PoolClient } from "pg";
import { isConnectionFailure, isReadOnlyRefusal, unavailable } from "./failures.ts";
import { activeTraceparent, type OutboxMessage, outboxInserts } from "./outbox-insert.ts";
import { type Query, type Statement, toQuery } from "./statement.ts";
import { type Answer, type BatchStatement, StatementBatch } from "./statement-batch.ts";
import { statementName } from "./statement-names.ts";

/**
 * A running transaction. Statements run in the order in which they are sent, also when not awaited in between.
 */
export type Tx = {
  /** The rows of a statement. */
  query<R>(statement: Statement): Promise<R[]>;
  /** The number of rows a statement touched. */
  execute(statement: Statement): Promise<number>;
  /** Stores a message in the outbox just before COMMIT: it is published exactly when the transaction commits. */
  emit(message: OutboxMessage): void;
};

export type OpenTransaction = {
  tx: Tx;
  commit(): Promise<void>;
  /**
   * Rolls back after a failure outside of the database. Resolves with true when the connection is in no transaction any
   * more; null when no rollback is tried: a statement failed, or is not answered yet.
   */
  undo(): Promise<boolean> | null;
  /** How many messages. */
  emitted(): number;
};

/**
 * Sends BEGIN and the settings without waiting for them: their failure is thrown by the first statement or by
 * `commit`. Without `begin`, everything is sent together by `commit`, and the batch is the transaction.
 */
export function openTransaction(
  client: PoolClient,
  settings: Query,
  options: {
    begin: string | null;
    prepare: boolean;
    /** The connection is closed after this many milliseconds without an answer to a statement. */
    silentMs: number;
    traceparent: string | null;
  },
): OpenTransaction {
  const { begin, prepare, traceparent } = options;
  const messages: OutboxMessage[] = [];
  const silence = watchSilence(client, options.silentMs);
  const { send, flush } = sender(client, { prepare, isHeld: begin === null }, silence);
  let firstError: { error: unknown } | undefined;
  let unanswered = 0;
  let over = false;

  // Statements after a failed one only report "current transaction is aborted": the first error is the one that
  // explains.
  const noteError = (error: unknown) => {
    firstError ??= { error };
  };
  const sendAhead = (query: Query) => void send(query).catch(noteError);

  const answerTo = async (statement: Statement): Promise<Answer> => {
    if (over) throw new Error("a statement was sent after the end of its transaction");
    unanswered += 1;
    try {
      return await send(toQuery(statement));
    } catch (error) {
      noteError(error);
      throw firstError?.error;
    } finally {
      unanswered -= 1;
    }
  };

  const rollback = async () => {
    const result = await send({ text: "ROLLBACK", values: [] }).catch(() => null);
    silence.end();
    return result?.command === "ROLLBACK" && firstError === undefined;
  };

  if (begin !== null) sendAhead({ text: begin, values: [] });
  sendAhead(settings);

  return {
    tx: {
      query: async <R>(statement: Statement) => (await answerTo(statement)).rows as R[],
      execute: async (statement) => (await answerTo(statement)).rowCount ?? 0,
      emit(message) {
        if (over) throw new Error("a message was emitted after the end of its transaction");
        const { subject, msgId, body } = message;
        const parent = message.traceparent ?? activeTraceparent() ?? traceparent;
        messages.push({ subject, msgId, body, traceparent: parent });
      },
    },
    async commit() {
      over = true;
      for (const insert of outboxInserts(messages)) sendAhead(insert);
      const commit = begin === null ? flush() : send({ text: "COMMIT", values: [] });
      const answer = await commit.catch(noteLostCommit).finally(silence.end);
      if (firstError) throw firstError.error;
      // COMMIT of a failed transaction succeeds, and answers ROLLBACK.
      if (answer && answer.command !== "COMMIT") throw new Error(`COMMIT was answered with ${answer.command}`);
    },
    undo() {
      const isClean = !over && unanswered === 0 && firstError === undefined;
      over = true;
      if (isClean && begin !== null) return rollback();
      silence.end();
      // A batch that was not sent leaves nothing.
      return isClean ? Promise.resolve(true) : null;
    },
    emitted: () => messages.length,
  };
}

function noteLostCommit(cause: unknown): never {
  if (!isConnectionFailure(cause) || isReadOnlyRefusal(cause)) throw cause;
  throw unavailable(new Error("the answer to COMMIT was lost: the transaction may have been committed", { cause }));
}

type Waiting = BatchStatement & { resolve: (answer: Answer) => void; reject: (error: Error) => void };

/**
 * Sends statements, those of one turn of the event loop in one batch; when `isHeld`, all together with `flush`, which
 * rejects unless all of them succeeded.
 */
function sender(
  client: PoolClient,
  { prepare, isHeld }: { prepare: boolean; isHeld: boolean },
  silence: Silence,
): { send: (query: Query) => Promise<Answer>; flush: () => Promise<null> } {
  let waiting: Waiting[] = [];
  const flush = async (): Promise<null> => {
    const sent = waiting;
    waiting = [];
    const roundTrip = new Promise<null>((resolve, reject) => {
      const answered = (error: Error | null, answers: readonly Answer[]) => {
        for (const [index, each] of sent.entries()) {
          const answer = answers[index];
          // The first without an answer is the one that failed, or whose answer was lost.
          if (answer) each.resolve(answer);
          else each.reject(error ?? new Error("a statement was not answered"));
        }
        if (error) reject(error);
        else resolve(null);
      };
      try {
        client.query(new StatementBatch(sent, answered));
      } catch (error) {
        answered(errorOf(error), []);
      }
    });
    silence.waitFor(roundTrip);
    return await roundTrip;
  };
  // Each statement learns of it by itself.
  const sendWaiting = () => void flush().catch(() => undefined);
  const send = ({ text, values }: Query) => {
    if (waiting.length === 0 && !isHeld) process.nextTick(sendWaiting);
    const span = startSampledChild(operationOf(text), SpanKind.CLIENT, {
      "db.system.name": "postgresql",
      "db.query.text": text,
    });
    const name = prepare ? statementName(text) : undefined;
    const answer = new Promise<Answer>((resolve, reject) => {
      waiting.push({ text, values, name, resolve, reject });
    }).catch(rethrowFromHere);
    if (span) traceAnswer(span, answer);
    return answer;
  };
  return { send, flush };
}

/** With the caller's stack instead of the socket's. */
function rethrowFromHere(error: Error): never {
  Error.captureStackTrace(error);
  throw error;
}

type Silence = { waitFor(answer: Promise<unknown>): void; end(): void };

/**
 * A paused server, or a lost network, answers nothing and closes nothing: its connection is closed when nothing came
 * for `silentMs` while an answer was due. The server itself would have cancelled a statement before.
 */
function watchSilence(client: PoolClient, silentMs: number): Silence {
  let open = 0;
  let sinceMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const answered = () => {
    open -= 1;
    sinceMs = performance.now();
  };
  const check = () => {
    const leftMs = open === 0 ? silentMs : sinceMs + silentMs - performance.now();
    if (leftMs <= 0) {
      client.connection.stream.destroy(Object.assign(new Error("the database does not answer"), { code: "ETIMEDOUT" }));
      return;
    }
    timer = setTimeout(check, leftMs);
  };
  return {
    waitFor(answer) {
      if (open === 0) sinceMs = performance.now();
      open += 1;
      if (!isOver) timer ??= setTimeout(check, silentMs);
      answer.then(answered, answered);
    },
    end() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}

/** The first keyword of a statement: spans have few names, the text is an attribute, and neither contains values. */
function operationOf(text: string): string {
  return /[a-z]+/i.exec(text)?.[0].toUpperCase() ?? "SQL";
}

function traceAnswer(span: NonNullable<ReturnType<typeof startSampledChild>>, answer: Promise<Answer>): void {
  answer.then(
    () => endSpan(span, "ok"),
    (error: { code?: string }) => endSpan(span, error.code ?? "error"),
  );
}
