import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { tenantMigrations } from "@muster/service";
import {
  asOwner,
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
  const id = "00000000-0000-7000-8000-000000000001";
  await asOwner(database, (owner) =>
    owner.query(`
      INSERT INTO device (id, org_id, partner_id, status, version, heard_at)
        VALUES ('${id}', '${id}', '${id}', 'online', 1, now());
      INSERT INTO agent_log (id, device_id, org_id, partner_id, "timestamp", level, component, message)
        VALUES ('${id}', '${id}', '${id}', '${id}', now(), 'info', 'ws', 'x');
      INSERT INTO event_log (id, device_id, org_id, partner_id, "timestamp", level, category, source, message)
        VALUES ('${id}', '${id}', '${id}', '${id}', now(), 'info', 'system', 's', 'x')`),
  );
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
