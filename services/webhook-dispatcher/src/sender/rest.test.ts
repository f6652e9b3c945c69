import { describe, expect, it } from "@jest/globals";
import type { Database } from "@muster/db";
import { until } from "@muster/testing";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher } = ownDispatcher();

describe("a sender at rest", () => {
  it("claims once and from then on only reads", async () => {
    const { db } = dispatcher.database;
    const asked: ("claim" | "look")[] = [];
    const on: Database = {
      ...db,
      tx(who, fn, options) {
        asked.push("claim");
        return db.tx(who, fn, options);
      },
      inOneBatch(who, fn, options) {
        asked.push(options?.readOnly ? "look" : "claim");
        return db.inOneBatch(who, fn, options);
      },
    };
    const sender = dispatcher.sender({ on });
    await until("four transactions", () => asked.length >= 4);
    await sender.stop();
    expect(asked.slice(0, 4)).toEqual(["claim", "look", "look", "look"]);
  });
});
