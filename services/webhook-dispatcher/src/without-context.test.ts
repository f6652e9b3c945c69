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
  const dirs = [tenantMigrations, { label: "webhook-dispatcher", path: fileURLToPath(migrations) }];
  database = await testDatabase({ service: "webhook-dispatcher", dirs });
  await fillCommonTables(database, true);
  await asOwner(database, async (owner) => {
    const id = "00000000-0000-7000-8000-000000000001";
    await owner.query(`
      INSERT INTO webhooks (id, org_id, partner_id, name, url_sealed, url_shown, headers_sealed, events, created_by,
                            created_at, updated_at)
        VALUES ('${id}', '${id}', '${id}', 'Hook', 'x', 'https://x', 'x', '{*}', '${id}', now(), now());
      INSERT INTO webhook_endpoint_state (webhook_id, org_id, partner_id) VALUES ('${id}', '${id}', '${id}');
      INSERT INTO webhook_event_keys VALUES ('${id}', '${id}', now());
      INSERT INTO webhook_backlog (org_id, event_id, type, occurred_at, body)
        VALUES ('${id}', '${id}', 'device.online', now(), '{}');
      INSERT INTO webhook_replays (id, webhook_id, org_id, partner_id, since, until, status_filter, created_by, created_at)
        VALUES ('${id}', '${id}', '${id}', '${id}', now(), now(), 'all', '${id}', now());
      INSERT INTO webhook_events VALUES ('${id}', '${id}', now(), '${id}', 'device.online', '{}');
      INSERT INTO webhook_deliveries (id, created_at, webhook_id, org_id, partner_id, event_id, event)
        VALUES ('${id}', now(), '${id}', '${id}', '${id}', '${id}', 'device.online');
      INSERT INTO webhook_queue (delivery_id, created_at, webhook_id, org_id, partner_id, event_id, due_at)
        VALUES ('${id}', now(), '${id}', '${id}', '${id}', '${id}', now());
      INSERT INTO webhook_attempts (delivery_id, created_at, number, org_id, partner_id, started_at)
        VALUES ('${id}', now(), 1, '${id}', '${id}', now());
      INSERT INTO webhook_dead_letters (id, org_id, partner_id, webhook_id, delivery_id, delivery_created_at, event,
                                        event_id, reason, attempts, created_at)
        VALUES ('${id}', '${id}', '${id}', '${id}', '${id}', now(), 'device.online', '${id}', 'x', 6, now())`);
  });
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
