import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type CallContext, type Caller, systemCaller, uuidv7 } from "@muster/kit";
import {
  asOwner,
  callers,
  contextProblems,
  databaseAs,
  fillCommonTables,
  foreignTextProblems,
  type TestDatabase,
  tablesWithoutContext,
  testDatabase,
} from "@muster/testing";
import { identityDirs } from "../testing/identity.ts";
import { oneRowOfEach } from "../testing/rows.ts";
import { findApiKey, listApiKeys } from "./api-keys.ts";
import { findEnrollmentKey, listEnrollmentKeys } from "./enrollment-keys.ts";
import { findOwnPassword } from "./principals.ts";
import { findRole, listRoles } from "./roles.ts";
import { findServicePrincipal, listServicePrincipals } from "./service-principals.ts";
import { cachedTenants } from "./tenants.ts";
import { findUser, listUsers } from "./users.ts";

let database: TestDatabase;
const [partnerId, orgId, siteId] = [uuidv7(), uuidv7(), uuidv7()];
// One id for a row of each table: what refers to another row finds it.
const id = uuidv7();
beforeAll(async () => {
  database = await testDatabase({ service: "identity", dirs: identityDirs });
  await fillCommonTables(database, true);
  await asOwner(database, (owner) => owner.query(oneRowOfEach({ id, partnerId, orgId, siteId })));
});
afterAll(async () => {
  await database?.drop();
});

const page = { page: 1, limit: 50, cursor: null, skipCount: false };
const anybody = { partnerId: null, orgId: null, roleId: null, status: null, mfaEnabled: null, query: null };
const meta = { requestId: "r", clientAddress: null, userAgent: null, traceparent: null };

/** The database as `caller` finds it, whomever the queries' own predicates believe in. */
const seenBy = (caller: Caller | null) => databaseAs(database.db, caller);

/** The rows of the tenant that each query of the store returns; all callers are set to the platform. */
async function everythingSeen(db: TestDatabase["db"]): Promise<string[]> {
  const believed = systemCaller("identity");
  const caller = { ...believed, actor: { ...believed.actor, id } };
  const who: CallContext = { caller, meta, deadlineMs: null, signal: new AbortController().signal };
  const now = new Date();
  const { orgs, sites } = await cachedTenants(db, who, { partnerId, orgIds: [orgId], siteIds: [siteId] });
  const found: Record<string, unknown> = {
    orgs: orgs.size > 0,
    sites: sites.size > 0,
    user: await findUser(db, who, id),
    users: (await listUsers(db, who, anybody, page)).rows.length,
    role: await findRole(db, who, id),
    roles: (await listRoles(db, who, { partnerId: null, orgId: null, scope: null }, page)).rows.length,
    password: await findOwnPassword(db, who),
    apiKey: await findApiKey(db, who, id),
    apiKeys: (await listApiKeys(db, who, { orgId: null, status: null, search: "", expiresBefore: null }, now, page))
      .rows.length,
    enrollmentKey: await findEnrollmentKey(db, who, id),
    enrollmentKeys: (await listEnrollmentKeys(db, who, { orgId: null, expired: null }, now, page)).rows.length,
    principal: await findServicePrincipal(db, who, id),
    principals: (await listServicePrincipals(db, who, { orgId: null, status: null, search: "" }, page)).rows.length,
  };
  return Object.keys(found).filter((name) => Boolean(found[name]));
}

describe("the store", () => {
  it("returns no row of any table, and permits no change, without a caller", async () => {
    expect(contextProblems(await tablesWithoutContext(database))).toEqual([]);
  });

  it("takes an anonymous caller's text in every column", async () => {
    expect(await foreignTextProblems(database)).toEqual([]);
  });

  it("returns nothing to a transaction without a tenant, whatever the query is", async () => {
    expect(await everythingSeen(seenBy(systemCaller("identity")))).toHaveLength(13);
    expect(await everythingSeen(seenBy(null))).toEqual([]);
  });

  it("enforces each barrier separately: the policies hide rows that a query fails to exclude", async () => {
    const outsiders = [
      callers.partnerAdmin(uuidv7()),
      callers.partnerWithList(uuidv7(), [orgId]),
      callers.orgAdmin(uuidv7(), uuidv7()),
      callers.orgAdmin(uuidv7(), uuidv7(), { siteIds: [siteId] }),
    ];
    for (const outsider of outsiders) expect(await everythingSeen(seenBy(outsider))).toEqual([]);
    expect(await everythingSeen(seenBy(callers.orgAdmin(partnerId, uuidv7())))).toEqual([]);
    // Rows that the policies leave to the queries: the copy of all the partner's tenants is readable to the partner's
    // users.
    const colleague = callers.partnerWithList(partnerId, []);
    expect(await everythingSeen(seenBy(colleague))).toEqual(["orgs", "sites"]);
  });
});
