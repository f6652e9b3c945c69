import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql, type Tx } from "@muster/db";
import { callers } from "@muster/testing";
import { startTestIdentity, type TestIdentity } from "../testing/identity.ts";
import { findAccount } from "./directory/accounts.ts";
import { findCandidate } from "./sso/identities.ts";

const crowd = 3_000;
const email = "P1500@many.example";
let identity: TestIdentity;
let owner: { partnerId: string; orgId: string };
beforeAll(async () => {
  identity = await startTestIdentity();
  const partnerId = await identity.addPartner();
  owner = { partnerId, orgId: await identity.addOrganization(partnerId) };
  await identity.db.tx(identity.system, (tx) =>
    tx.execute(sql`
      INSERT INTO users (id, email, name, scope, partner_id, org_id, role_id, status, created_at, updated_at)
      SELECT gen_random_uuid(), 'p' || n || '@many.example', 'Ann', 'organization', ${partnerId}, ${owner.orgId},
             ${identity.roleId("org-viewer")}, 'active', now(), now() FROM generate_series(1, ${crowd}::int) AS n`),
  );
});
afterAll(() => identity?.close());

const provider = { providerId: "018f0000-0000-7000-8000-000000000001", externalId: "none" };
const lookups: Record<string, (tx: Tx) => Promise<object | null>> = {
  "by a directory": (tx) => findAccount(tx, owner, email),
  "by single sign-on": (tx) => findCandidate(tx, owner, email, provider),
};

/** Rows of users that this connection has read. */
async function usersRead(tx: Tx): Promise<number> {
  const [row] = await tx.query<{ read: number }>(sql`
    SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_xact_user_tables
    WHERE schemaname = 'identity' AND relname = 'users'`);
  if (!row) throw new Error("PostgreSQL counts no reads");
  return row.read;
}

describe("an account of an address", () => {
  // Row-level security keeps lower() off an index: whoever looked so read every user of the organization.
  it.each(Object.keys(lookups))("is found %s without reading the others of its organization", async (name) => {
    const caller = callers.orgAdmin(owner.partnerId, owner.orgId, { permissions: ["users:read"] });
    const { found, read } = await identity.db.tx({ caller }, async (tx) => {
      const before = await usersRead(tx);
      const found = await lookups[name]?.(tx);
      return { found, read: (await usersRead(tx)) - before };
    });
    expect(found).not.toBeNull();
    expect(read).toBeLessThan(20);
  });
});
