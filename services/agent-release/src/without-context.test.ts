import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { tenantMigrations } from "@muster/service";
import { schemaProblems } from "@muster/testing";
import { migrations } from "./config.ts";

const dirs = [tenantMigrations, { label: "agent-release", path: fileURLToPath(migrations) }];

const id = "00000000-0000-7000-8000-000000000001";
const rows = `
  INSERT INTO release (id, component, version, prerelease, source, signed, created_by, created_at)
    VALUES ('${id}', 'agent', '1.0.0', false, 'api', false, 'test', now());
  INSERT INTO artifact (release_id, os, arch, name, size, sha256, stored)
    VALUES ('${id}', 'linux', 'amd64', 'agent', 1, '${"0".repeat(64)}', false);
  INSERT INTO rollout (id, release_id, kind, state, max_in_flight, halt_failures, halt_percent, soak_seconds, created_by, created_at, updated_at)
    VALUES ('${id}', '${id}', 'guard', 'running', 1, 1, 1, 1, 'test', now(), now());
  INSERT INTO rollout_part (rollout_id, kind, name, org_id, partner_id) VALUES ('${id}', 'organization', '${id}', '${id}', '${id}');
  INSERT INTO halt_notice (id, rollout_id, line, created_at) VALUES ('${id}', '${id}', 'L', now());
  INSERT INTO root_note (number, note, created_by, created_at) VALUES (2, 'note', 'test', now());
  INSERT INTO plan_change (epoch, scope) VALUES (2, 'all');
  INSERT INTO rollout_template (id, name, rings, limits, created_by, created_at, updated_at)
    VALUES ('${id}', 'name', '[]', '{}', 'test', now(), now());
  INSERT INTO update_settings (partner_id, updated_at) VALUES ('${id}', now());
  INSERT INTO update_attempt (id, device_id, org_id, partner_id, component, release_id, version, rollout_id, from_version, state,
                              offered_at, deadline)
    VALUES ('${id}', '${id}', '${id}', '${id}', 'agent', '${id}', '1.0.0', '${id}', '0.9.0', 'offered', now(), now());
  INSERT INTO update_request (device_id, org_id, partner_id, requested_by, expires_at) VALUES ('${id}', '${id}', '${id}', 'test', now())`;

describe("the database", () => {
  it("returns no row of any table, and permits no change, without a caller", async () => {
    expect(await schemaProblems({ service: "agent-release", dirs }, rows)).toEqual([]);
  });
});
