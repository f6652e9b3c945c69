import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { tenantMigrations } from "@muster/service";
import {
  contextProblems,
  fillCommonTables,
  type TestDatabase,
  tablesWithoutContext,
  testDatabase,
} from "@muster/testing";
import { migrations } from "./config.ts";

let database: TestDatabase;
beforeAll(async () => {
  const dirs = [tenantMigrations, { label: "device-logs", path: fileURLToPath(migrations) }];
  database = await testDatabase({ service: "device-logs", dirs });
  await fillCommonTables(database, true);
});
afterAll(async () => {
  await database?.drop();
});

describe("the database", () => {
  it("shows nothing of any table, and lets nothing be changed, when nobody said who is calling", async () => {
    const tables = await tablesWithoutContext(database);
    expect(tables.map(({ table }) => table)).toEqual(
      expect.arrayContaining(["outbox", "job", "dead_letter", "tenant"]),
    );
    expect(contextProblems(tables)).toEqual([]);
  });
});
