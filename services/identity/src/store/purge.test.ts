import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { type PurgedTenant, purgeAll, requestPurge } from "@muster/service";
import { asOwner, type TestDatabase, tenantRows, testDatabase } from "@muster/testing";
import { identityDirs } from "../testing/identity.ts";
import { oneRowOfEach } from "../testing/rows.ts";
import { purgePlan } from "./purge.ts";

const log = createLogger("purge-test", "fatal");
let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ service: "identity", dirs: identityDirs });
});
afterAll(() => database?.drop());

const purges = () => ({ db: database.db, service: "identity", log, plan: purgePlan });
const ask = (tenant: PurgedTenant) =>
  database.db.tx({ caller: systemCaller("identity") }, (tx) => requestPurge(tx, tenant));

type Tenant = { id: string; partnerId: string; orgId: string };

/** An organization with rows in every table; `id` is that of all of them, including its user. */
async function filled(partnerId = uuidv7()): Promise<Tenant> {
  const ids = { id: uuidv7(), partnerId, orgId: uuidv7(), siteId: uuidv7() };
  // Its partner may be there already.
  const text = oneRowOfEach(ids).replace(/\('partner'.*\n/, "");
  await asOwner(database, (owner) => owner.query(text));
  return ids;
}

/** Rows of tables that bear no organization but hang on the user. */
async function hanging({ id }: Tenant): Promise<number> {
  const tables = ["user_totp", "recovery_codes", "mfa_challenges", "passkeys", "passkey_challenges", "password_resets"];
  const text = tables.map((table) => `SELECT FROM ${table} WHERE user_id = $1`).join(" UNION ALL ");
  return asOwner(database, async (owner) => (await owner.query(text, [id])).rowCount ?? 0);
}

const sum = (counts: Record<string, number>) => Object.values(counts).reduce((total, n) => total + n, 0);

describe("a purged tenant", () => {
  it("keeps no users, keys and roles, while another tenant keeps all of its own", async () => {
    const gone = await filled();
    const neighbour = await filled(gone.partnerId);
    const before = await tenantRows(database, gone.orgId);
    expect(Object.entries(before).filter(([, n]) => n === 0)).toEqual([]);
    expect(await hanging(gone)).toBe(6);
    await ask({ kind: "organization", id: gone.orgId });
    expect(await purgeAll(purges())).toBe(1);
    expect([sum(await tenantRows(database, gone.orgId)), await hanging(gone)]).toEqual([0, 0]);
    expect([await tenantRows(database, neighbour.orgId), await hanging(neighbour)]).toEqual([before, 6]);
  });

  it("removes a partner's own users and roles and all of its organizations", async () => {
    const partnerId = uuidv7();
    const organizations = [await filled(partnerId), await filled(partnerId)];
    const other = await filled();
    const roleId = uuidv7();
    await asOwner(database, async (owner) => {
      await owner.query(
        `INSERT INTO roles (id, name, scope, partner_id, permissions, created_at, updated_at)
         VALUES ($1, 'Own', 'partner', $2, '{}', now(), now())`,
        [roleId, partnerId],
      );
      await owner.query(
        `INSERT INTO users (id, email, name, scope, partner_id, role_id, status, org_access, created_at, updated_at)
         SELECT gen_random_uuid(), n || '@of-partner.example', 'P', 'partner', $2, $1, 'active', 'all', now(), now()
         FROM generate_series(1, 1200) n`,
        [roleId, partnerId],
      );
    });
    await ask({ kind: "partner", id: partnerId });
    await purgeAll(purges());
    for (const { orgId } of organizations) expect(sum(await tenantRows(database, orgId))).toBe(0);
    expect(sum(await tenantRows(database, other.orgId))).toBeGreaterThan(8);
    const left = await asOwner(database, (owner) =>
      owner.query("SELECT FROM users WHERE partner_id = $1 UNION ALL SELECT FROM roles WHERE partner_id = $1", [
        partnerId,
      ]),
    );
    expect(left.rowCount).toBe(0);
  });
});
