import type { Duplex } from "node:stream";
import { endSpan, SpanKind, startSampledChild } from "@muster/kit";
import pg, { type PoolClient, type QueryResult } from "pg";
import { isConnectionFailure, unavailable } from "./failures.ts";
import { activeTraceparent, type OutboxMessage, outboxInserts } from "./outbox.ts";
import { type Query, type Statement, toQuery } from "./statement.ts";
import { statementName } from "./statement-names.ts";

/**
 * A transaction under way. Statements run in the order in which they are asked for, also when not awaited in between.
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
 * `commit`.
 */
export function openTransaction(
  client: PoolClient,
  settings: Query,
  options: {
    begin: string;
    prepare: boolean;
    /** The connection is closed after this many milliseconds without an answer to a statement. */
    silentMs: number;
    traceparent: string | null;
  },
): OpenTransaction {
  const { begin, prepare, traceparent } = options;
  const messages: OutboxMessage[] = [];
  const silence = watchSilence(client, options.silentMs);
  const send = sender(client, prepare, silence);
  let firstError: { error: unknown } | undefined;
  let unanswered = 0;
  let over = false;

  // Statements after a failed one only report "current transaction is aborted": the first error is the one that
  // explains.
  const noteError = (error: unknown) => {
    firstError ??= { error };
  };
  const sendAhead = (query: Query) => void send(query).catch(noteError);

  const ask = async (statement: Statement): Promise<QueryResult> => {
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

  sendAhead({ text: begin, values: [] });
  sendAhead(settings);

  return {
    tx: {
      query: async <R>(statement: Statement) => (await ask(statement)).rows as R[],
      execute: async (statement) => (await ask(statement)).rowCount ?? 0,
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
      const result = await send({ text: "COMMIT", values: [] }).catch(noteLostCommit).finally(silence.end);
      if (firstError) throw firstError.error;
      // COMMIT of a failed transaction succeeds, and answers ROLLBACK.
      if (result.command !== "COMMIT") throw new Error(`COMMIT was answered with ${result.command}`);
    },
    undo() {
      const isClean = !over && unanswered === 0 && firstError === undefined;
      over = true;
      if (isClean) return rollback();
      silence.end();
      return null;
    },
    emitted: () => messages.length,
  };
}

function noteLostCommit(cause: unknown): never {
  if (!isConnectionFailure(cause)) throw cause;
  throw unavailable(new Error("the answer to COMMIT was lost: the transaction may have been committed", { cause }));
}

/** Sends statements, those of one turn of the event loop in one write. */
function sender(client: PoolClient, prepare: boolean, silence: Silence): (query: Query) => Promise<QueryResult> {
  const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection;
  let corked = false;
  return ({ text, values }) => {
    if (!corked) {
      corked = true;
      stream.cork();
      process.nextTick(() => {
        corked = false;
        stream.uncork();
      });
    }
    const span = startSampledChild(operationOf(text), SpanKind.CLIENT, {
      "db.system.name": "postgresql",
      "db.query.text": text,
    });
    const name = prepare ? statementName(text) : undefined;
    const answer = new Promise<QueryResult>((resolve, reject) => {
      const query = new pg.Query(text, values as unknown[], (error, result) => {
        if (error) reject(error);
        else resolve(result);
      });
      // Extended, so that a text is always one statement. Set here: pg would copy a configuration by its descriptors.
      Object.assign(query, { name, queryMode: "extended" });
      client.query(query);
    }).catch(rethrowFromHere);
    if (span) traceAnswer(span, answer);
    silence.asked(answer);
    return answer;
  };
}

/** With the caller's stack instead of the socket's. */
function rethrowFromHere(error: Error): never {
  Error.captureStackTrace(error);
  throw error;
}

type Silence = { asked(answer: Promise<unknown>): void; end(): void };

/**
 * A paused server, or a lost network, answers nothing and closes nothing: its connection is cut when nothing came for
 * `silentMs` while something was asked for. The server itself would have cancelled a statement before.
 */
function watchSilence(client: PoolClient, silentMs: number): Silence {
  let open = 0;
  let sinceMs = 0;
  let timer: NodeJS.Timeout | undefined;
  const answered = () => {
    open -= 1;
    sinceMs = performance.now();
  };
  const look = () => {
    const leftMs = open === 0 ? silentMs : sinceMs + silentMs - performance.now();
    if (leftMs <= 0) {
      const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection;
      stream.destroy(Object.assign(new Error("the database does not answer"), { code: "ETIMEDOUT" }));
      return;
    }
    timer = setTimeout(look, leftMs);
  };
  return {
    asked(answer) {
      if (open === 0) sinceMs = performance.now();
      open += 1;
      timer ??= setTimeout(look, silentMs);
      answer.then(answered, answered);
    },
    end: () => clearTimeout(timer),
  };
}

/** The first word of a statement: spans have few names, the text is an attribute, and neither contains values. */
function operationOf(text: string): string {
  return /[a-z]+/i.exec(text)?.[0].toUpperCase() ?? "SQL";
}

function traceAnswer(span: NonNullable<ReturnType<typeof startSampledChild>>, answer: Promise<QueryResult>): void {
  answer.then(
    () => endSpan(span, "ok"),
    (error: { code?: string }) => endSpan(span, error.code ?? "error"),
  );
}
