import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { systemCaller, uuidv7 } from "@muster/kit";
import { tenantMigrations } from "@muster/service";
import { outcome, type TestDatabase, testDatabase } from "@muster/testing";
import { readAgentLogs } from "../rules/entries.ts";
import { logRequestOf } from "../rules/log-request.ts";
import { aLog } from "../testing/device-logs.ts";
import { logAppender } from "./appender.ts";

let database: TestDatabase;
beforeAll(async () => {
  const migrations = fileURLToPath(new URL("../../migrations/", import.meta.url));
  database = await testDatabase({
    service: "device-logs",
    dirs: [tenantMigrations, { label: "device-logs", path: migrations }],
  });
});
afterAll(() => database?.drop());

/** An appender, and a device of some organization that appends 500 rows at a time. */
function appending() {
  const appender = logAppender(database.db, { flushRows: 1_000, waitingRows: 10_000 });
  const { entries } = readAgentLogs(Buffer.from(JSON.stringify({ logs: Array.from({ length: 500 }, () => aLog()) })));
  const request = logRequestOf(Buffer.from("x"), null);
  return (orgId: string) =>
    outcome(appender.append({ owner: { deviceId: uuidv7(), orgId, partnerId: uuidv7() }, entries, request }));
}

describe("log entries of a flooding organization", () => {
  it("leave room to those of others, and are stored round-robin with them", async () => {
    const [append, flooding] = [appending(), uuidv7()];
    const stored: string[] = [];
    const { flood, others } = await database.db.tx({ caller: systemCaller("device-logs") }, async (tx) => {
      // Nobody can insert: everything waits.
      await tx.execute(sql`LOCK TABLE agent_log IN SHARE MODE`);
      const send = (name: string, orgId: string) =>
        append(orgId).then((result) => {
          if (result === "ok") stored.push(name);
          return result;
        });
      return {
        flood: Array.from({ length: 40 }, () => send("flood", flooding)),
        others: ["b", "c", "d"].map((name) => send(name, uuidv7())),
      };
    });
    expect(await Promise.all(others)).toEqual(["ok", "ok", "ok"]);
    const outcomes = await Promise.all(flood);
    expect(new Set(outcomes)).toEqual(new Set(["ok", "overloaded"]));
    const later = stored.slice(stored.indexOf("d")).filter((name) => name === "flood");
    expect(later.length).toBeGreaterThanOrEqual(4);
  });
});
