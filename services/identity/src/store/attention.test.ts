import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Caller, uuidv7 } from "@muster/kit";
import { asOwner, callers, contextOf, explained } from "@muster/testing";
import { identityAttention } from "../rpc/attention.ts";
import { startTestIdentity, type TestIdentity } from "../testing/identity.ts";
import { watchedProviders } from "./attention.ts";

const partnerIds = Array.from({ length: 20 }, () => uuidv7());
const orgIds = Array.from({ length: 200 }, () => uuidv7());

/** A large platform: keys, some of which end soon, providers with sign-ins, directories with tokens. */
const fill = [
  `INSERT INTO tenant (kind, id, partner_id, org_id, version, status, deleted, updated_at)
   SELECT 'organization', o.id, ($2::uuid[])[1 + (n - 1) % 20], o.id, 1, 'active', false, now()
   FROM unnest($1::uuid[]) WITH ORDINALITY AS o (id, n)`,
  `INSERT INTO api_keys (id, org_id, partner_id, name, key_prefix, digest, scopes, rate_limit, status, expires_at, created_by,
                         created_at, updated_at)
   SELECT gen_random_uuid(), ($1::uuid[])[1 + n % 200], ($2::uuid[])[1 + n % 20], 'Key ' || n, 'mk_x', sha256(n::text::bytea),
          '{}', 100, 'active', CASE WHEN n % 10 = 0 THEN now() + (n % 1000) * interval '1 day' END, gen_random_uuid(), now(), now()
   FROM generate_series(1, 20000) n`,
  `INSERT INTO sso_providers (id, partner_id, org_id, name, type, status, scopes, saml_certificates, created_by, created_at, updated_at)
   SELECT md5('provider' || n)::uuid, ($2::uuid[])[1 + n % 20], ($1::uuid[])[1 + n % 200], 'Provider ' || n, 'saml', 'active', '',
          jsonb_build_array(jsonb_build_object('notAfter', now() + n * interval '1 day')), gen_random_uuid(), now(), now()
   FROM generate_series(1, 1000) n`,
  `INSERT INTO sso_attempts (id, provider_id, partner_id, org_id, kind, outcome, step, created_at)
   SELECT gen_random_uuid(), md5('provider' || 1 + n % 1000)::uuid, ($2::uuid[])[1 + n % 20], ($1::uuid[])[1 + n % 200], 'login',
          'success', 'tokens', now() - n * interval '1 second'
   FROM generate_series(1, 20000) n`,
  `INSERT INTO directories (id, partner_id, org_id, name, created_by, created_at, updated_at)
   SELECT md5('directory' || n)::uuid, ($2::uuid[])[1 + n % 20], ($1::uuid[])[1 + n % 200], 'Directory ' || n, gen_random_uuid(),
          now(), now()
   FROM generate_series(1, 1000) n`,
  `INSERT INTO directory_tokens (id, directory_id, partner_id, org_id, digest, prefix, created_at)
   SELECT id, id, partner_id, org_id, sha256(id::text::bytea), 'scim_', now() FROM directories
   WHERE $1::uuid[] IS NOT NULL AND $2::uuid[] IS NOT NULL`,
];

let identity: TestIdentity;
beforeAll(async () => {
  identity = await startTestIdentity();
  await asOwner(identity.database, async (owner) => {
    for (const statement of fill) await owner.query(statement, [orgIds, partnerIds]);
    await owner.query("ANALYZE");
  });
}, 60_000);
afterAll(() => identity?.close());

const permissions = ["devices:read", "organizations:read", "directory:read"];
const [partnerId, orgId] = [partnerIds[0] ?? "", orgIds[0] ?? ""];
const scopes: Record<string, Caller> = {
  "the platform": callers.platformAdmin({ permissions }),
  "a partner": callers.partnerAdmin(partnerId, { permissions }),
  "an organization": callers.orgAdmin(partnerId, orgId, { permissions }),
};
/** Tables that grow with devices, people and their programs. */
const large = ["api_keys", "sso_attempts", "directory_requests"];

describe("what needs attention among many records", () => {
  it.each(Object.keys(scopes))("is found by indexes, for %s", async (name) => {
    const { db, scans } = explained(identity.database.db);
    const context = contextOf(scopes[name] as Caller);
    const sources = identityAttention({ now: () => new Date() });
    await db.inOneBatch(context, (tx) => Promise.all(sources.map(({ find }) => find(tx, context, null, 101))));
    const read = scans.filter(({ table }) => large.includes(table));
    expect(new Set(read.map(({ table }) => table))).toEqual(new Set(["api_keys", "sso_attempts"]));
    expect(read.filter(({ by }) => by === "Seq Scan")).toEqual([]);
  });

  it.each(Object.keys(scopes))("reads the newest sign-in of each provider alone, for %s", async (name) => {
    const { db, scans } = explained(identity.database.db);
    const context = contextOf(scopes[name] as Caller);
    await db.inOneBatch(context, (tx) => watchedProviders(tx, context, null, 1_000, new Date()));
    // The newest of each, then the failed ones of those that are watched, and a success after them.
    const byIndex = expect.stringMatching(/^Index (Only )?Scan$/);
    const ofAttempts = scans.filter(({ table }) => table === "sso_attempts");
    expect(ofAttempts.map(({ by }) => by)).toEqual([byIndex, byIndex, byIndex]);
  });
});
