import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, uuidv7 } from "@muster/kit";
import { callers } from "@muster/testing";
import { keyDigest } from "../rules/key-material.ts";
import { codeOf, outcomeOf } from "../testing/identity.ts";
import { tenantOf } from "../testing/keys.ts";
import { ownKeys } from "../testing/own-keys.ts";

const { keys, tenant } = ownKeys();

const admin = () => keys.principalsAs(tenant.orgAdmin);
const apiKeys = () => keys.apiKeysAs(tenant.orgAdmin);
const scoped = ["devices:read", "devices:write"];

async function made(scopes: string[] = scoped, as: Caller = tenant.orgAdmin) {
  const { principal, apiKey, key } = await keys
    .principalsAs(as)
    .createServicePrincipal({ orgId: tenant.orgId, name: "robot", scopes });
  if (!principal || !apiKey) throw new Error("no principal");
  return { principal, apiKey, key, id: principal.id };
}

async function plainKey(scopes: string[], change: Record<string, unknown> = {}): Promise<string> {
  const { apiKey } = await apiKeys().createApiKey({ orgId: tenant.orgId, name: "plain", scopes, ...change });
  return apiKey?.id ?? "";
}

const statusOf = async (id: string) => (await apiKeys().getApiKey({ id })).apiKey?.status;
const actionsOf = async (id: string) => (await keys.auditOf(id)).map(({ action }) => action);

/** Active keys of a principal as the database has them. */
const activeKeys = (principalId: string) =>
  keys.db.read<{ id: string; scopes: string[] }>(
    keys.system,
    sql`SELECT id, scopes FROM api_keys WHERE principal_id = ${principalId} AND status = 'active'`,
  );

/** What a key's secrets are compared with. */
const secretsOf = (keyId: string) =>
  keys.db.read<{ digest: Buffer; previous_digest: Buffer | null; previous_valid_until: Date | null }>(
    keys.system,
    sql`SELECT digest, previous_digest, previous_valid_until FROM api_keys WHERE id = ${keyId}`,
  );

describe("creating a service principal", () => {
  it("returns the principal and its first key, and leaves one audit row with the prefix", async () => {
    const { principal, apiKey, key, id } = await made();
    expect(principal).toMatchObject({
      orgId: tenant.orgId,
      name: "robot",
      scopes: scoped,
      status: "active",
      keyPrefix: key.slice(0, 12),
      createdBy: tenant.orgAdmin.actor.id,
    });
    expect(apiKey).toMatchObject({ principalId: id, scopes: scoped, status: "active", orgId: tenant.orgId });
    expect((await apiKeys().getApiKey({ id: apiKey.id })).apiKey).toEqual(apiKey);
    expect((await admin().getServicePrincipal({ id })).principal).toEqual(principal);
    const [row, ...more] = await keys.auditOf(id);
    expect(more).toEqual([]);
    expect(row).toMatchObject({ action: "service_principal.create", resourceType: "service_principal" });
    expect(JSON.parse(row?.detailsJson ?? "").keyPrefix).toBe(key.slice(0, 12));
    expect(await keys.outboxText()).not.toContain(key.slice(12));
  });

  it("needs every scope, the whole organization, a second factor and an organization in scope", async () => {
    const held = ["organizations:write", "devices:read"];
    const user = await keys.user(callers.orgAdmin(tenant.partnerId, tenant.orgId), held);
    expect(await outcomeOf(made(scoped, user))).toEqual({ code: "delegation_denied", scopes: ["devices:write"] });
    expect(await codeOf(made(["unheard:of"], user))).toBe("unknown_scope");
    expect(await codeOf(made([], { ...tenant.orgAdmin, siteIds: [uuidv7()] }))).toBe("site_restricted");
    expect(await codeOf(made([], { ...tenant.orgAdmin, mfaAt: null }))).toBe("mfa_required");
    expect(await codeOf(made([], (await tenantOf(keys)).partnerAdmin))).toBe("organization_not_found");
    const unnamed = admin().createServicePrincipal({ orgId: tenant.orgId, name: "" });
    expect(await codeOf(unnamed)).toBe("validation_failed");
  });
});

describe("reading service principals", () => {
  it("lists those of accessible organizations, by status too", async () => {
    const [a, b] = [await made(), await made()];
    await admin().disableServicePrincipal({ id: b.id });
    const ids = async (filter: object, as = tenant.orgAdmin) =>
      (await keys.principalsAs(as).listServicePrincipals(filter)).principals.map(({ id }) => id).sort();
    expect(await ids({})).toEqual([a.id, b.id].sort());
    expect(await ids({ status: "active" })).toEqual([a.id]);
    const wanted = { orgId: tenant.orgId, name: "Backup job", scopes: scoped };
    const { principal: named } = await admin().createServicePrincipal(wanted);
    expect(await ids({ search: "UP J" })).toEqual([named?.id]);
    expect(await ids({ search: "_" })).toEqual([]);
    expect(await ids({ status: "disabled" }, tenant.partnerAdmin)).toEqual([b.id]);
    const unknown = keys.principalsAs(tenant.partnerAdmin).listServicePrincipals({ orgId: uuidv7() });
    expect(await codeOf(unknown)).toBe("organization_not_found");
    expect(await codeOf(admin().listServicePrincipals({ status: "expired" }))).toBe("validation_failed");
    const other = keys.principalsAs((await tenantOf(keys)).partnerAdmin);
    expect((await other.listServicePrincipals({})).principals).toEqual([]);
    const calls = [
      other.getServicePrincipal({ id: a.id }),
      other.rotatePrincipalKey({ id: a.id }),
      other.disableServicePrincipal({ id: a.id }),
      other.migrateKey({ id: a.id, keyId: a.apiKey.id }),
    ];
    expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => "service_principal_not_found"));
    const restricted = keys.principalsAs({ ...tenant.orgAdmin, siteIds: [] });
    expect(await codeOf(restricted.listServicePrincipals({}))).toBe("site_restricted");
    expect(await codeOf(restricted.getServicePrincipal({ id: a.id }))).toBe("site_restricted");
  });
});

describe("rotating a principal's key", () => {
  it("creates one with all of its scopes and revokes the previous one, keeping its limits", async () => {
    const { id, apiKey } = await made();
    const narrowed = { scopes: ["devices:read"], rateLimit: 5, allowedIps: ["192.0.2.0/24"] };
    const paths = ["scopes", "rate_limit", "allowed_ips"];
    await apiKeys().updateApiKey({ id: apiKey.id, updateMask: { paths }, apiKey: narrowed });
    const rotated = await admin().rotatePrincipalKey({ id });
    expect(rotated.apiKey).toMatchObject({
      principalId: id,
      scopes: scoped,
      rateLimit: 5,
      allowedIps: ["192.0.2.0/24"],
    });
    expect(rotated.apiKey?.id).not.toBe(apiKey.id);
    expect(rotated.principal?.keyPrefix).toBe(rotated.key.slice(0, 12));
    expect(await statusOf(apiKey.id)).toBe("revoked");
    expect((await keys.eventsOf(apiKey.id)).at(-1)?.revoked).toBe(true);
    expect(await actionsOf(id)).toEqual(["service_principal.create", "service_principal.rotate_key"]);
  });

  it("requires a caller who holds every scope of the principal now", async () => {
    const { id, apiKey } = await made();
    const user = await keys.user(callers.orgAdmin(tenant.partnerId, tenant.orgId));
    await keys.setHeld(user, ["organizations:write", "devices:read"]);
    expect(await outcomeOf(keys.principalsAs(user).rotatePrincipalKey({ id }))).toEqual({
      code: "delegation_denied",
      scopes: ["devices:write"],
    });
    expect(await statusOf(apiKey.id)).toBe("active");
  });

  it("creates one also after the key was revoked separately", async () => {
    const { id, apiKey } = await made();
    await apiKeys().revokeApiKey({ id: apiKey.id });
    expect((await admin().getServicePrincipal({ id })).principal?.keyPrefix).toBe("");
    await admin().rotatePrincipalKey({ id });
    expect(await activeKeys(id)).toHaveLength(1);
  });
});

describe("rotating a principal's key as an API key", () => {
  it("refuses a grace, which would leave the principal two secrets, and rotates without one", async () => {
    const { apiKey, key } = await made();
    const withGrace = apiKeys().rotateApiKey({ id: apiKey.id, graceSeconds: 600 });
    expect(await codeOf(withGrace)).toBe("validation_failed");
    expect(await secretsOf(apiKey.id)).toEqual([
      { digest: keyDigest(key), previous_digest: null, previous_valid_until: null },
    ]);
    const rotated = await apiKeys().rotateApiKey({ id: apiKey.id });
    expect(await secretsOf(apiKey.id)).toEqual([
      { digest: keyDigest(rotated.key), previous_digest: null, previous_valid_until: null },
    ]);
  });
});

describe("adopting a key", () => {
  it("re-assigns it with the scopes that both allow, and revokes the previous one", async () => {
    const { id, apiKey } = await made();
    const keyId = await plainKey(["audit:read", "devices:read"], { rateLimit: 3 });
    const adopted = await admin().migrateKey({ id, keyId });
    expect(adopted.apiKey).toMatchObject({ id: keyId, principalId: id, scopes: ["devices:read"], rateLimit: 3 });
    expect(await statusOf(apiKey.id)).toBe("revoked");
    expect(await activeKeys(id)).toEqual([{ id: keyId, scopes: ["devices:read"] }]);
    const [, row] = await keys.auditOf(id);
    expect(row?.action).toBe("service_principal.migrate_key");
    expect(JSON.parse(row?.detailsJson ?? "")).toMatchObject({
      keyId,
      previousKeyPrefix: apiKey.keyPrefix,
      changes: { before: { scopes: ["devices:read", "audit:read"] }, after: { scopes: ["devices:read"] } },
    });
    expect((await keys.eventsOf(keyId)).length).toBe(1);
  });

  it.each<[string[], string[], string[]]>([
    [["*"], ["devices:read"], ["devices:read"]],
    [["devices:read"], ["*"], ["devices:read"]],
    [["devices:read"], ["audit:read"], []],
  ])("a key with %j by a principal with %j leaves %j", async (ofKey, ofPrincipal, left) => {
    const { id } = await made(ofPrincipal);
    const { apiKey } = await admin().migrateKey({ id, keyId: await plainKey(ofKey) });
    expect(apiKey?.scopes).toEqual(left);
  });

  it("ends the grace of an earlier rotation's secret: a principal has one secret", async () => {
    const { id } = await made();
    const keyId = await plainKey(["devices:read"]);
    const [before] = await secretsOf(keyId);
    await apiKeys().rotateApiKey({ id: keyId, graceSeconds: 600 });
    await admin().migrateKey({ id, keyId });
    expect(await secretsOf(keyId)).toEqual([
      { digest: expect.any(Buffer), previous_digest: null, previous_valid_until: null },
    ]);
    const events = (await keys.eventsOf(keyId)).at(-1)?.digests.map((digest) => Buffer.from(digest));
    expect(events).toContainEqual(before?.digest);
  });

  it("needs the scopes that are granted", async () => {
    const { id } = await made();
    const keyId = await plainKey(["devices:write"]);
    const held = ["organizations:write", "devices:read"];
    const user = await keys.user(callers.orgAdmin(tenant.partnerId, tenant.orgId), held);
    expect(await outcomeOf(keys.principalsAs(user).migrateKey({ id, keyId }))).toEqual({
      code: "delegation_denied",
      scopes: ["devices:write"],
    });
  });

  it("accepts only an active key of the same organization", async () => {
    const { id } = await made();
    const revoked = await plainKey([]);
    await apiKeys().revokeApiKey({ id: revoked });
    const expiring = await plainKey([], { expiresAt: timestampFromDate(new Date(keys.clock.now.getTime() + 60_000)) });
    keys.clock.now = new Date(keys.clock.now.getTime() + 60_000);
    const sibling = await keys.addOrganization(tenant.partnerId);
    const foreign = await keys.apiKeysAs(tenant.partnerAdmin).createApiKey({ orgId: sibling, name: "foreign" });
    const outcome = (keyId: string) => codeOf(keys.principalsAs(tenant.partnerAdmin).migrateKey({ id, keyId }));
    expect(await outcome(revoked)).toBe("key_not_active");
    expect(await outcome(expiring)).toBe("key_not_active");
    expect(await outcome(foreign.apiKey?.id ?? "")).toBe("api_key_not_found");
    expect(await outcome(uuidv7())).toBe("api_key_not_found");
    expect(await outcome("nonsense")).toBe("api_key_not_found");
  });

  it("keeps the key within the principal's scopes from then on", async () => {
    const { id } = await made(["devices:read"]);
    const keyId = await plainKey(["devices:read"]);
    await admin().migrateKey({ id, keyId });
    const widen = (scopes: string[]) =>
      apiKeys().updateApiKey({ id: keyId, updateMask: { paths: ["scopes"] }, apiKey: { scopes } });
    expect(await outcomeOf(widen(["devices:read", "audit:read"]))).toEqual({
      code: "delegation_denied",
      scopes: ["audit:read"],
    });
    expect(await codeOf(widen(["*"]))).toBe("delegation_denied");
    expect(await codeOf(widen([]))).toBe("answered");
  });
});

describe("disabling a principal", () => {
  it("revokes its key in the same transaction, is idempotent, and prevents later changes", async () => {
    const { id, apiKey } = await made();
    const first = await admin().disableServicePrincipal({ id });
    expect(first.principal).toMatchObject({ status: "disabled", keyPrefix: "" });
    expect((await admin().disableServicePrincipal({ id })).principal).toEqual(first.principal);
    expect(await statusOf(apiKey.id)).toBe("revoked");
    expect(await activeKeys(id)).toEqual([]);
    expect(await actionsOf(id)).toEqual(["service_principal.create", "service_principal.disable"]);
    expect((await keys.eventsOf(apiKey.id)).at(-1)?.revoked).toBe(true);
    expect(await codeOf(admin().rotatePrincipalKey({ id }))).toBe("principal_disabled");
    expect(await codeOf(admin().migrateKey({ id, keyId: await plainKey([]) }))).toBe("principal_disabled");
    expect(await codeOf(apiKeys().rotateApiKey({ id: apiKey.id }))).toBe("key_not_active");
  });
});

describe("under 20 parallel rotate and adopt calls", () => {
  it("a principal never has two active keys, and all calls are answered", async () => {
    const { id } = await made();
    const plain = await Promise.all(Array.from({ length: 10 }, () => plainKey(["devices:read"])));
    let watching = true;
    let most = 0;
    const watch = (async () => {
      while (watching) most = Math.max(most, (await activeKeys(id)).length);
    })();
    const calls = plain.flatMap((keyId) => [admin().rotatePrincipalKey({ id }), admin().migrateKey({ id, keyId })]);
    const outcomes = await Promise.all(calls.map(codeOf));
    watching = false;
    await watch;
    expect(outcomes).toEqual(calls.map(() => "answered"));
    expect([most, (await activeKeys(id)).length]).toEqual([1, 1]);
    // One of the principal's own and 20 that came after it.
    expect(await actionsOf(id)).toHaveLength(21);
  });

  it("two principals that adopt each other's key do not deadlock", async () => {
    const [a, b] = [await made(), await made()];
    const calls = Array.from({ length: 10 }, (_, i) =>
      i % 2 === 0
        ? admin().migrateKey({ id: a.id, keyId: b.apiKey.id })
        : admin().migrateKey({ id: b.id, keyId: a.apiKey.id }),
    );
    const outcomes = new Set(await Promise.all(calls.map(codeOf)));
    expect([...outcomes].every((outcome) => ["answered", "key_not_active"].includes(outcome))).toBe(true);
    for (const { id } of [a, b]) expect((await activeKeys(id)).length).toBeLessThanOrEqual(1);
  });
});
