import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { purgeAll, requestPurge, tenantMigrations } from "@muster/service";
import { asOwner, type TestDatabase, tenantRows, testDatabase } from "@muster/testing";
import { migrations, service } from "../config.ts";
import { purgePlan } from "./purge.ts";

const log = createLogger("purge-test", "fatal");
let database: TestDatabase;
beforeAll(async () => {
  const dirs = [tenantMigrations, { label: service, path: fileURLToPath(migrations) }];
  database = await testDatabase({ service, dirs });
});
afterAll(() => database?.drop());

type Tenant = { partnerId: string; orgId: string };

/** An organization with settings, many attempts of its devices, and a request. */
async function filled(partnerId = uuidv7()): Promise<Tenant> {
  const tenant = { partnerId, orgId: uuidv7() };
  await asOwner(database, async (owner) => {
    const of = [tenant.partnerId, tenant.orgId];
    await owner.query("INSERT INTO update_settings (partner_id, org_id, updated_at) VALUES ($1, $2, now())", of);
    await owner.query(
      `WITH released AS (
         INSERT INTO release (id, component, version, prerelease, source, signed, created_by, created_at)
         VALUES (gen_random_uuid(), 'agent', gen_random_uuid()::text, false, 'api', true, 'test', now()) RETURNING id
       ), rolled AS (
         INSERT INTO rollout (id, release_id, kind, state, max_in_flight, halt_failures, halt_percent, soak_seconds,
                              created_by, created_at, updated_at)
         SELECT gen_random_uuid(), id, 'guard', 'running', 1, 1, 1, 1, 'test', now(), now() FROM released RETURNING id
       )
       INSERT INTO rollout_part (rollout_id, kind, name, partner_id, org_id)
       SELECT id, 'organization', $2::text, $1::uuid, $2::uuid FROM rolled`,
      of,
    );
    await owner.query(
      `INSERT INTO update_request (device_id, partner_id, org_id, requested_by, expires_at)
       VALUES (gen_random_uuid(), $1, $2, 'test', now())`,
      of,
    );
    await owner.query(
      `INSERT INTO update_attempt (id, device_id, partner_id, org_id, component, release_id, version, rollout_id, from_version, state,
                                   offered_at, deadline, ended_at)
       SELECT gen_random_uuid(), gen_random_uuid(), $1, $2, 'agent', gen_random_uuid(), '1.0.0', gen_random_uuid(), '0.9.0',
              'succeeded', now(), now(), now() FROM generate_series(1, 1500)`,
      of,
    );
  });
  return tenant;
}

const request = (kind: "organization" | "partner", id: string) =>
  database.db.tx({ caller: systemCaller(service) }, (tx) => requestPurge(tx, { kind, id }));
const purge = () => purgeAll({ db: database.db, service, log, plan: purgePlan });
const sum = (counts: Record<string, number>) => Object.values(counts).reduce((total, n) => total + n, 0);

describe("a purged tenant", () => {
  it("has no settings, updates and requests left, and other tenants keep all of theirs", async () => {
    const gone = await filled();
    const neighbour = await filled(gone.partnerId);
    const before = await tenantRows(database, gone.orgId);
    expect([Object.keys(before).length, sum(before)]).toEqual([4, 1_503]);
    await request("organization", gone.orgId);
    expect(await purge()).toBe(1);
    expect(sum(await tenantRows(database, gone.orgId))).toBe(0);
    expect(await tenantRows(database, neighbour.orgId)).toEqual(before);
  });

  it("loses its own settings and all of its organizations when it is a partner", async () => {
    const first = await filled();
    const second = await filled(first.partnerId);
    const other = await filled();
    await asOwner(database, (owner) =>
      owner.query("INSERT INTO update_settings (partner_id, updated_at) VALUES ($1, now())", [first.partnerId]),
    );
    await request("partner", first.partnerId);
    await purge();
    for (const { orgId } of [first, second]) expect(sum(await tenantRows(database, orgId))).toBe(0);
    const left = await asOwner(database, (owner) =>
      owner.query("SELECT FROM update_settings WHERE partner_id = $1", [first.partnerId]),
    );
    expect([left.rowCount, sum(await tenantRows(database, other.orgId))]).toEqual([0, 1_503]);
  });
});
