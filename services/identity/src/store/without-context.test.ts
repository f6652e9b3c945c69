import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type CallContext, type Caller, systemCaller, uuidv7 } from "@muster/kit";
import {
  asOwner,
  callers,
  contextProblems,
  databaseAs,
  fillCommonTables,
  type TestDatabase,
  tablesWithoutContext,
  testDatabase,
} from "@muster/testing";
import { identityDirs } from "../testing/identity.ts";
import { findApiKey, listApiKeys } from "./api-keys.ts";
import { findEnrollmentKey, listEnrollmentKeys } from "./enrollment-keys.ts";
import { findOwnPassword } from "./people.ts";
import { findRole, listRoles } from "./roles.ts";
import { findServicePrincipal, listServicePrincipals } from "./service-principals.ts";
import { knownTenants } from "./tenants.ts";
import { findUser, listUsers } from "./users.ts";

let database: TestDatabase;
const [partnerId, orgId, siteId] = [uuidv7(), uuidv7(), uuidv7()];
// One id for a row of each table: what refers to another row finds it.
const id = uuidv7();
beforeAll(async () => {
  database = await testDatabase({ service: "identity", dirs: identityDirs });
  await fillCommonTables(database, true);
  await asOwner(database, (owner) => owner.query(oneRowOfEach()));
});
afterAll(async () => {
  await database?.drop();
});

const oneRowOfEach = () => `
  INSERT INTO tenant (kind, id, partner_id, org_id, version, status, deleted, updated_at) VALUES
    ('partner', '${partnerId}', '${partnerId}', NULL, 1, 'active', false, now()),
    ('organization', '${orgId}', '${partnerId}', '${orgId}', 1, 'active', false, now()),
    ('site', '${siteId}', '${partnerId}', '${orgId}', 1, '', false, now());
  INSERT INTO roles (id, name, scope, partner_id, org_id, permissions, created_at, updated_at)
    VALUES ('${id}', 'Own', 'organization', '${partnerId}', '${orgId}', '{}', now(), now());
  INSERT INTO users (id, email, name, scope, partner_id, org_id, role_id, password_hash, status, created_at, updated_at)
    VALUES ('${id}', 'a@example.com', 'A', 'organization', '${partnerId}', '${orgId}', '${id}', 'x', 'active', now(), now());
  INSERT INTO user_organizations (user_id, org_id, partner_id) VALUES ('${id}', '${orgId}', '${partnerId}');
  INSERT INTO user_sites (user_id, site_id, partner_id, org_id) VALUES ('${id}', '${siteId}', '${partnerId}', '${orgId}');
  INSERT INTO sessions (id, user_id, partner_id, org_id, family_secret, created_at, rotated_at, idle_expires_at, expires_at)
    VALUES ('${id}', '${id}', '${partnerId}', '${orgId}', 'x', now(), now(), now(), now());
  INSERT INTO invites (id, user_id, partner_id, org_id, token_hash, created_at, expires_at)
    VALUES ('${id}', '${id}', '${partnerId}', '${orgId}', 'x', now(), now());
  INSERT INTO user_totp (user_id, secret, created_at) VALUES ('${id}', 'x', now());
  INSERT INTO recovery_codes (user_id, code_hash) VALUES ('${id}', 'x');
  INSERT INTO mfa_challenges (id, user_id, token_hash, created_at, expires_at) VALUES ('${id}', '${id}', 'x', now(), now());
  INSERT INTO passkeys (id, user_id, credential_id, public_key, counter, transports, aaguid, multi_device, backed_up, name,
                        created_at)
    VALUES ('${id}', '${id}', 'x', 'x', 0, '{}', '${id}', false, false, 'K', now());
  INSERT INTO passkey_challenges (challenge_hash, user_id, purpose, session_id, expires_at)
    VALUES ('x', '${id}', 'register', '${id}', now());
  INSERT INTO password_resets (id, user_id, token_hash, created_at, expires_at) VALUES ('${id}', '${id}', 'x', now(), now());
  INSERT INTO mail (id, kind, sealed, next_at, expires_at, created_at) VALUES ('${id}', 'invite', 'x', now(), now(), now());
  INSERT INTO failed_attempts (bucket, user_id, failed_at, expires_at) VALUES ('x', '${id}', '{}', now());
  INSERT INTO failed_logins (user_id, minute, failures) VALUES ('${id}', now(), 1);
  INSERT INTO service_principals (id, org_id, partner_id, name, scopes, status, created_by, created_at, updated_at)
    VALUES ('${id}', '${orgId}', '${partnerId}', 'P', '{}', 'active', '${id}', now(), now());
  INSERT INTO api_keys (id, org_id, partner_id, name, key_prefix, digest, scopes, rate_limit, status, created_by, created_at,
                        updated_at)
    VALUES ('${id}', '${orgId}', '${partnerId}', 'K', 'svc_x', 'x', '{}', 1, 'active', '${id}', now(), now());
  INSERT INTO enrollment_keys (id, org_id, partner_id, name, key_prefix, digest, pepper_id, expires_at, created_by, created_at,
                               updated_at)
    VALUES ('${id}', '${orgId}', '${partnerId}', 'E', 'x', 'x', 'x', now(), '${id}', now(), now());
  INSERT INTO enrollment_reservations (key_id, device_id, generation, reserved_until) VALUES ('${id}', '${id}', 1, now());
  INSERT INTO agent_tokens (device_id, org_id, partner_id, digest, created_at)
    VALUES ('${id}', '${orgId}', '${partnerId}', 'x', now());
  INSERT INTO rate_windows (kind, id) VALUES ('key', '${id}');
  INSERT INTO gateways (id, lease_until) VALUES ('${id}', now());
  INSERT INTO change_acknowledgements (change_id, gateway_id) VALUES ('x', '${id}');
  INSERT INTO refusals (actor_id, action, minute, refused) VALUES ('x', 'x', now(), 1);`;

const page = { page: 1, limit: 50, cursor: null, skipCount: false };
const anybody = { partnerId: null, orgId: null, roleId: null, status: null, query: null };
const meta = { requestId: "r", clientAddress: null, userAgent: null, traceparent: null };

/** The database as `caller` finds it, whomever the queries' own predicates believe in. */
const seenBy = (caller: Caller | null) => databaseAs(database.db, caller);

/** What each query of the store gives of the tenant; all of them believe that the platform asks. */
async function everythingSeen(db: TestDatabase["db"]): Promise<string[]> {
  const believed = systemCaller("identity");
  const caller = { ...believed, actor: { ...believed.actor, id } };
  const who: CallContext = { caller, meta, deadlineMs: null, signal: new AbortController().signal };
  const now = new Date();
  const { orgs, sites } = await knownTenants(db, who, { partnerId, orgIds: [orgId], siteIds: [siteId] });
  const found: Record<string, unknown> = {
    orgs: orgs.size > 0,
    sites: sites.size > 0,
    user: await findUser(db, who, id),
    users: (await listUsers(db, who, anybody, page)).rows.length,
    role: await findRole(db, who, id),
    roles: (await listRoles(db, who, { partnerId: null, orgId: null, scope: null }, page)).rows.length,
    password: await findOwnPassword(db, who),
    apiKey: await findApiKey(db, who, id),
    apiKeys: (await listApiKeys(db, who, { orgId: null, status: null }, now, page)).rows.length,
    enrollmentKey: await findEnrollmentKey(db, who, id),
    enrollmentKeys: (await listEnrollmentKeys(db, who, { orgId: null, expired: null }, now, page)).rows.length,
    principal: await findServicePrincipal(db, who, id),
    principals: (await listServicePrincipals(db, who, { orgId: null, status: null }, page)).rows.length,
  };
  return Object.keys(found).filter((name) => Boolean(found[name]));
}

describe("the store", () => {
  it("shows nothing of any table, and lets nothing be changed, when nobody said who is calling", async () => {
    expect(contextProblems(await tablesWithoutContext(database))).toEqual([]);
  });

  it("returns nothing to a transaction without a tenant, whatever the query asks for", async () => {
    expect(await everythingSeen(seenBy(systemCaller("identity")))).toHaveLength(13);
    expect(await everythingSeen(seenBy(null))).toEqual([]);
  });

  it("holds each wall by itself: the policies hide what a query forgets to exclude", async () => {
    const strangers = [
      callers.partnerAdmin(uuidv7()),
      callers.partnerWithList(uuidv7(), [orgId]),
      callers.orgAdmin(uuidv7(), uuidv7()),
      callers.orgAdmin(uuidv7(), uuidv7(), { siteIds: [siteId] }),
    ];
    for (const stranger of strangers) expect(await everythingSeen(seenBy(stranger))).toEqual([]);
    expect(await everythingSeen(seenBy(callers.orgAdmin(partnerId, uuidv7())))).toEqual([]);
    // What the policies leave to the queries: the tenants' copy is the whole partner's to its people.
    const colleague = callers.partnerWithList(partnerId, []);
    expect(await everythingSeen(seenBy(colleague))).toEqual(["orgs", "sites"]);
  });
});
