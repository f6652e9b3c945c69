import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { tenantMigrations } from "@muster/service";
import { schemaProblems } from "@muster/testing";
import { migrations } from "../config.ts";

const dirs = [tenantMigrations, { label: "device-logs", path: fileURLToPath(migrations) }];
const id = "00000000-0000-7000-8000-000000000001";
const rows = `
  INSERT INTO device (id, org_id, partner_id, status, version, heard_at)
    VALUES ('${id}', '${id}', '${id}', 'online', 1, now());
  INSERT INTO agent_log (id, device_id, org_id, partner_id, "timestamp", level, component, message)
    VALUES ('${id}', '${id}', '${id}', '${id}', now(), 'info', 'ws', 'x');
  INSERT INTO event_log (id, device_id, org_id, partner_id, "timestamp", level, category, source, message)
    VALUES ('${id}', '${id}', '${id}', '${id}', now(), 'info', 'system', 's', 'x');
  INSERT INTO agent_log_request (device_id, org_id, partner_id, request, body_sha256, expires_at)
    VALUES ('${id}', '${id}', '${id}', 'x', 'x', now());
  INSERT INTO log_limit (org_id, partner_id) VALUES ('${id}', '${id}');
  INSERT INTO log_usage (org_id, partner_id, day, rows, bytes, refused) VALUES ('${id}', '${id}', now(), 1, 1, 1)`;

describe("the database", () => {
  it("returns no row of any table, and permits no change, without a caller", async () => {
    expect(await schemaProblems({ service: "device-logs", dirs }, rows)).toEqual([]);
  });
});
