import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "@jest/globals";
import type { PoolClient } from "pg";
import { sql } from "./statement.ts";
import { openTransaction } from "./transaction.ts";

const plain = { begin: "BEGIN", prepare: true, silentMs: 12_000, traceparent: null };
const settings = { text: "select settings", values: [] };

type Asked = { text: string; callback(error: Error | null, result?: object): void };

/** A connection that notes what it is asked and answers at once. */
function fakeClient(answer: (text: string) => { command: string }): { client: PoolClient; asked: string[] } {
  const asked: string[] = [];
  const client = Object.assign(new EventEmitter(), {
    connection: { stream: new PassThrough() },
    query: ({ text, callback }: Asked) => {
      asked.push(text);
      const answered = async () => ({ rows: [], rowCount: 0, ...answer(text) });
      answered().then(
        (result) => callback(null, result),
        (error: Error) => callback(error),
      );
    },
  });
  return { client: client as unknown as PoolClient, asked };
}

describe("a transaction", () => {
  it("sends BEGIN, settings and the first statement before any answer, and COMMIT after them", async () => {
    const { client, asked } = fakeClient((text) => ({ command: text }));
    const { tx, commit } = openTransaction(client, settings, plain);
    const first = tx.query(sql`select 1`);
    expect(asked).toEqual(["BEGIN", "select settings", "select 1"]);
    const committed = commit();
    expect(asked).toEqual(["BEGIN", "select settings", "select 1", "COMMIT"]);
    await Promise.all([first, committed]);
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
    expect(timers()).toBe(before + 1);
    await committed.catch(() => undefined);
    expect(timers()).toBe(before);
  });
});
