import { describe, expect, it } from "@jest/globals";
import type { Database } from "@muster/db";
import { until } from "@muster/testing";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher } = ownDispatcher();

describe("an idle sender", () => {
  it("claims once and from then on only reads", async () => {
    const { db } = dispatcher.database;
    const calls: ("claim" | "check")[] = [];
    const on: Database = {
      ...db,
      tx(who, fn, options) {
        calls.push("claim");
        return db.tx(who, fn, options);
      },
      inOneBatch(who, fn, options) {
        calls.push(options?.readOnly ? "check" : "claim");
        return db.inOneBatch(who, fn, options);
      },
    };
    const sender = dispatcher.sender({ on });
    await until("four transactions", () => calls.length >= 4);
    await sender.stop();
    expect(calls.slice(0, 4)).toEqual(["claim", "check", "check", "check"]);
  });
});
