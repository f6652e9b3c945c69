import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "@jest/globals";
import type { PoolClient } from "pg";
import { sql } from "./statement.ts";
import type { StatementBatch } from "./statement-batch.ts";
import { openTransaction } from "./transaction.ts";

const plain = { begin: "BEGIN", prepare: true, silentMs: 12_000, traceparent: null };
const settings = { text: "select settings", values: [] };

/** A connection that notes each batch that it is sent, and answers it at once up to the first error. */
function fakeClient(answer: (text: string) => { command: string }): { client: PoolClient; batches: string[][] } {
  const batches: string[][] = [];
  const answerAll = async (batch: StatementBatch) => {
    try {
      for (const { text } of batch.statements) batch.handleCommandComplete({ text: answer(text).command });
      batch.handleReadyForQuery();
    } catch (error) {
      batch.handleError(error as Error);
    }
  };
  const client = Object.assign(new EventEmitter(), {
    connection: { stream: new PassThrough() },
    query: (batch: StatementBatch) => {
      batches.push(batch.statements.map(({ text }) => text));
      void Promise.resolve().then(() => answerAll(batch));
    },
  });
  return { client: client as unknown as PoolClient, batches };
}

describe("a transaction", () => {
  it("sends BEGIN, settings and the statements of the same turn as one batch, and COMMIT after what follows", async () => {
    const { client, batches } = fakeClient((text) => ({ command: text }));
    const { tx, commit } = openTransaction(client, settings, plain);
    await Promise.all([tx.query(sql`select 1`), tx.query(sql`select 2`)]);
    const last = tx.query(sql`select 3`);
    await Promise.all([last, commit()]);
    expect(batches).toEqual([
      ["BEGIN", "select settings", "select 1", "select 2"],
      ["select 3", "COMMIT"],
    ]);
  });

  it("has, as one batch, neither BEGIN nor COMMIT, and sends nothing before its end", async () => {
    const { client, batches } = fakeClient((text) => ({ command: text }));
    const { tx, commit } = openTransaction(client, settings, { ...plain, begin: null });
    const first = tx.query(sql`select 1`);
    await new Promise(setImmediate);
    expect(batches).toEqual([]);
    await Promise.all([first, commit()]);
    expect(batches).toEqual([["select settings", "select 1"]]);
  });

  it("reports, as one batch, that it may have been committed when its answer is lost", async () => {
    const { client } = fakeClient(() => {
      throw new Error("Connection terminated unexpectedly");
    });
    const { commit } = openTransaction(client, settings, { ...plain, begin: null });
    await expect(commit()).rejects.toMatchObject({
      code: "unavailable",
      cause: { message: expect.stringMatching(/may have been committed/) },
    });
  });

  it("is an error when COMMIT is answered with anything else", async () => {
    const { client } = fakeClient((text) => ({ command: text === "COMMIT" ? "ROLLBACK" : text }));
    await expect(openTransaction(client, settings, plain).commit()).rejects.toThrow(
      "COMMIT was answered with ROLLBACK",
    );
  });

  it("reports that it may have been committed when the answer to COMMIT is lost", async () => {
    const { client } = fakeClient((text) => {
      if (text === "COMMIT") throw new Error("Connection terminated unexpectedly");
      return { command: text };
    });
    await expect(openTransaction(client, settings, plain).commit()).rejects.toMatchObject({
      code: "unavailable",
      cause: { message: expect.stringMatching(/may have been committed/) },
    });
  });

  it.each([
    ["well", (text: string) => ({ command: text })],
    ["with another command", () => ({ command: "ROLLBACK" })],
    [
      "by an error",
      (text: string) => {
        if (text === "COMMIT") throw new Error("Connection terminated unexpectedly");
        return { command: text };
      },
    ],
  ])("holds no timer once COMMIT was answered %s", async (_how, answer) => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const before = timers();
    const { commit } = openTransaction(fakeClient(answer).client, settings, plain);
    const committed = commit();
    await new Promise<void>((resolve) => process.nextTick(resolve));
    expect(timers()).toBe(before + 1);
    await committed.catch(() => undefined);
    expect(timers()).toBe(before);
  });
});
