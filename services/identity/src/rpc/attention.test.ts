import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, gauge, uuidv7 } from "@muster/kit";
import { AttentionService } from "@muster/proto/muster/common/v1/attention_pb";
import { register } from "@muster/rpc";
import { attentionService } from "@muster/service";
import { callers, type TestPort, testPort } from "@muster/testing";
import { measureHealth } from "../jobs/health-gauges.ts";
import { failedSignIns } from "../store/sso/attempts.ts";
import { startTestIdentity, type TestIdentity } from "../testing/identity.ts";
import { identityAttention } from "./attention.ts";

let identity: TestIdentity;
let port: TestPort;
let partnerId: string;
beforeAll(async () => {
  identity = await startTestIdentity();
  const service = attentionService(identity.db, identityAttention({ now: () => new Date() }));
  port = await testPort("identity", [register(AttentionService, service)]);
  partnerId = await identity.addPartner();
});
afterAll(async () => {
  await port?.close();
  await identity?.close();
});

const permissions = ["devices:read", "organizations:read", "directory:read"];
const list = async (caller: Caller, orgId = "") =>
  (await port.client(AttentionService, caller).listAttention({ orgId })).items;
const kindsOf = async (caller: Caller) => (await list(caller)).map(({ kind, recordName }) => [kind, recordName]);
const store = (...statements: ReturnType<typeof sql>[]) =>
  identity.db.tx(identity.system, async (tx) => {
    for (const each of statements) await tx.execute(each);
  });
const daysAhead = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

async function apiKey(orgId: string, name: string, days: number): Promise<void> {
  const id = uuidv7();
  await store(sql`
    INSERT INTO api_keys (id, org_id, partner_id, name, key_prefix, digest, scopes, rate_limit, status, expires_at, created_by,
                          created_at, updated_at)
    VALUES (${id}, ${orgId}, ${partnerId}, ${name}, 'mk_x', ${Buffer.from(id)}, '{}', 100, 'active', ${daysAhead(days)}::timestamptz,
            ${id}, now(), now())`);
}

async function provider(orgId: string | null, name: string, samlDays: number | null): Promise<string> {
  const id = uuidv7();
  const certificates = samlDays === null ? [] : [{ notAfter: daysAhead(samlDays) }, { notAfter: daysAhead(-400) }];
  await store(sql`
    INSERT INTO sso_providers (id, partner_id, org_id, name, type, status, scopes, saml_certificates, created_by, created_at,
                               updated_at)
    VALUES (${id}, ${partnerId}, ${orgId}::uuid, ${name}, ${samlDays === null ? "oidc" : "saml"}, 'active', 'openid',
            ${JSON.stringify(certificates)}::text::jsonb, ${id}, now(), now())`);
  return id;
}

let signIns = 0;
/** Each a second after the one before: times are stored in milliseconds. */
const signIn = (providerId: string, orgId: string, outcome: string, reason: string | null) =>
  store(sql`
    INSERT INTO sso_attempts (id, provider_id, partner_id, org_id, kind, outcome, step, reason, created_at)
    VALUES (${uuidv7()}, ${providerId}, ${partnerId}, ${orgId}, 'login', ${outcome}, 'tokens', ${reason},
            now() - interval '1 hour' + ${++signIns}::int * interval '1 second')`);

async function directory(orgId: string, name: string, refused: number): Promise<void> {
  const id = uuidv7();
  await store(
    sql`INSERT INTO directories (id, partner_id, org_id, name, created_by, created_at, updated_at)
        VALUES (${id}, ${partnerId}, ${orgId}, ${name}, ${id}, now(), now())`,
    sql`INSERT INTO directory_tokens (id, directory_id, partner_id, org_id, digest, prefix, created_at)
        VALUES (${id}, ${id}, ${partnerId}, ${orgId}, ${Buffer.from(id)}, 'scim_', now())`,
    sql`INSERT INTO directory_cycles (directory_id, partner_id, org_id, started_at, last_at, requests, refused, created, changed,
                                      deleted)
        VALUES (${id}, ${partnerId}, ${orgId}, now(), now(), 10, ${refused}, 0, 0, 0)`,
  );
}

describe("what needs attention in identity", () => {
  it("is what fails or ends soon, each kind for who may read its list", async () => {
    const orgId = await identity.addOrganization(partnerId);
    await Promise.all([apiKey(orgId, "soon", 13), apiKey(orgId, "later", 15), apiKey(orgId, "over", -1)]);
    await Promise.all([directory(orgId, "refused", 5), directory(orgId, "fine", 4)]);
    await provider(orgId, "ending", 29);
    await provider(orgId, "ended", -1);
    await provider(orgId, "long", 31);
    const failing = await provider(orgId, "failing", null);
    for (let n = 0; n < 3; n++) await signIn(failing, orgId, "failure", "token_invalid");
    const admin = callers.orgAdmin(partnerId, orgId, { permissions });
    expect((await kindsOf(admin)).sort()).toEqual([
      ["api_key", "soon"],
      ["certificate", "ending"],
      ["directory", "refused"],
      ["sso_provider", "ended"],
      ["sso_provider", "failing"],
    ]);
    const only = async (...some: string[]) =>
      (await kindsOf(callers.orgAdmin(partnerId, orgId, { permissions: ["devices:read", ...some] }))).map(
        ([kind]) => kind,
      );
    expect(await only()).toEqual([]);
    expect(await only("directory:read")).toEqual(["directory"]);
    expect((await only("organizations:read")).sort()).toEqual([
      "api_key",
      "certificate",
      "sso_provider",
      "sso_provider",
    ]);
  });

  it("is of organizations in scope, and of the partner itself", async () => {
    const [orgId, otherOrg] = [await identity.addOrganization(partnerId), await identity.addOrganization(partnerId)];
    await apiKey(orgId, "mine", 1);
    const own = await provider(null, "partner's own", -1);
    const partner = callers.partnerAdmin(partnerId, { permissions });
    expect((await list(partner, orgId)).map(({ recordName }) => recordName)).toEqual(["mine"]);
    expect(await list(partner, otherOrg)).toEqual([]);
    expect(await list(partner)).toContainEqual(expect.objectContaining({ recordId: own, orgId: "", partnerId }));
    expect(await kindsOf(callers.orgAdmin(partnerId, otherOrg, { permissions }))).toEqual([]);
    expect(await kindsOf(callers.partnerAdmin(await identity.addPartner(), { permissions }))).toEqual([]);
  });

  it("forgets a provider's failures with the next sign-in, and does not count those of users", async () => {
    const orgId = await identity.addOrganization(partnerId);
    const admin = callers.orgAdmin(partnerId, orgId, { permissions });
    const id = await provider(orgId, "P", null);
    for (let n = 0; n < 3; n++) await signIn(id, orgId, "failure", "user_not_found");
    expect(await list(admin)).toEqual([]);
    for (let n = 0; n < 3; n++) await signIn(id, orgId, "failure", "idp_error");
    const sentence = expect.stringMatching(/^3 sign-ins in a row failed since .*, the last: idp_error\.$/);
    expect(await list(admin)).toMatchObject([{ recordId: id, sentence }]);
    await signIn(id, orgId, "success", null);
    expect(await list(admin)).toEqual([]);
  });
});

describe("failed sign-ins", () => {
  it("are counted for each provider since its own last success", async () => {
    const orgId = await identity.addOrganization(partnerId);
    const [first, second, third] = [
      await provider(orgId, "A", null),
      await provider(orgId, "B", null),
      await provider(orgId, "C", null),
    ];
    for (const id of [first, second, third]) await signIn(id, orgId, "failure", "idp_error");
    for (const id of [second, third]) await signIn(id, orgId, "success", null);
    for (const reason of ["token_invalid", "internal"]) await signIn(third, orgId, "failure", reason);
    const ids = [first, second, third].map((id) => ({ id }));
    const failed = await identity.db.tx(identity.system, (tx) => failedSignIns(tx, ids), { readOnly: true });
    expect([...failed].map(([id, { count, reason }]) => [id, count, reason])).toEqual(
      expect.arrayContaining([
        [first, 1, "idp_error"],
        [third, 2, "internal"],
      ]),
    );
    expect(failed.size).toBe(2);
  });
});

describe("metrics of health", () => {
  const counts = async (name: string): Promise<Record<string, number>> => {
    await measureHealth({ db: identity.db, now: () => new Date() });
    const { values } = await gauge(name, "", ["health"]).get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels.health, value]));
  };
  const zero = { healthy: 0, slow: 0, failing: 0, unreachable: 0 };
  const added = async (name: string, work: () => Promise<void>) => {
    const before = await counts(name);
    await work();
    const after = await counts(name);
    return Object.fromEntries(Object.entries(after).map(([status, count]) => [status, count - (before[status] ?? 0)]));
  };

  it("count providers by health, those that nobody uses as healthy", async () => {
    const orgId = await identity.addOrganization(partnerId);
    const work = async () => {
      await provider(orgId, "fine", null);
      await provider(orgId, "ended", -1);
      const unused = await provider(orgId, "unused", -1);
      await store(sql`UPDATE sso_providers SET status = 'inactive' WHERE id = ${unused}`);
      const failing = await provider(orgId, "failing", null);
      for (let n = 0; n < 3; n++) await signIn(failing, orgId, "failure", "token_invalid");
    };
    expect(await added("muster_identity_sso_providers", work)).toEqual({
      ...zero,
      ...{ healthy: 2, failing: 1, unreachable: 1 },
    });
  });

  it("count directories by health", async () => {
    const orgId = await identity.addOrganization(partnerId);
    const work = async () => {
      await Promise.all([directory(orgId, "refused", 5), directory(orgId, "fine", 4)]);
    };
    expect(await added("muster_identity_directories", work)).toEqual({ ...zero, healthy: 1, failing: 1 });
  });
});
