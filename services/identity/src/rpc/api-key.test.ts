import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, uuidv7 } from "@muster/kit";
import { callers } from "@muster/testing";
import { keyDigest } from "../rules/key-material.ts";
import { codeOf, outcomeOf } from "../testing/identity.ts";
import { tenantOf } from "../testing/keys.ts";
import { ownKeys } from "../testing/own-keys.ts";

const { keys, tenant } = ownKeys();

const minutes = (n: number) => new Date(keys.clock.now.getTime() + n * 60_000);
const admin = () => keys.apiKeysAs(tenant.orgAdmin);

async function made(change: Record<string, unknown> = {}, as: Caller = tenant.orgAdmin) {
  const wanted = { orgId: tenant.orgId, name: "CI", scopes: ["devices:read"], ...change };
  const { apiKey, key } = await keys.apiKeysAs(as).createApiKey(wanted);
  if (!apiKey) throw new Error("no key");
  return { ...apiKey, key };
}

describe("creating an API key", () => {
  it("returns the record with the documented defaults, the secret once, and stores its digest only", async () => {
    const { key, ...record } = await made({ scopes: [] });
    expect(record).toMatchObject({
      orgId: tenant.orgId,
      partnerId: tenant.partnerId,
      name: "CI",
      keyPrefix: key.slice(0, 12),
      scopes: [],
      rateLimit: 1000,
      status: "active",
      usageCount: 0n,
      principalId: "",
      allowedIps: [],
      createdBy: tenant.orgAdmin.actor.id,
    });
    expect([record.expiresAt, record.lastUsedAt]).toEqual([undefined, undefined]);
    const [row] = await keys.db.read<{ digest: Buffer; all: string }>(
      keys.system,
      sql`SELECT digest, api_keys::text AS all FROM api_keys WHERE id = ${record.id}`,
    );
    expect(row?.digest).toEqual(keyDigest(key));
    expect(row?.all).not.toContain(key.slice(12));
    expect((await admin().getApiKey({ id: record.id })).apiKey).toEqual(record);
  });

  it("leaves one audit row in the organization's chain that has the prefix and not the key", async () => {
    const { id, key, keyPrefix } = await made({ allowedIps: ["10.1.2.3/8"], rateLimit: 5 });
    const rows = await keys.auditOf(id);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      action: "api_key.create",
      orgId: tenant.orgId,
      resourceType: "api_key",
      resourceName: "CI",
      actorEmail: tenant.orgAdmin.actor.email,
      ipAddress: "192.0.2.7",
    });
    expect(JSON.parse(rows[0]?.detailsJson ?? "")).toEqual({
      keyPrefix,
      changes: {
        before: {},
        after: { name: "CI", scopes: ["devices:read"], rateLimit: 5, expiresAt: null, allowedIps: ["10.0.0.0/8"] },
      },
    });
    expect(await keys.outboxText()).not.toContain(key.slice(12));
  });

  it.each<[string, Record<string, unknown>]>([
    ["name", { name: " " }],
    ["name", { name: "x".repeat(256) }],
    ["name", { name: "a\0b" }],
    ["rateLimit", { rateLimit: -1 }],
    ["rateLimit", { rateLimit: 100_001 }],
    ["expiresAt", { expiresAt: timestampFromDate(new Date(Date.now() - 1)) }],
    ["allowedIps", { allowedIps: ["10.0.0.0/33"] }],
    ["allowedIps", { allowedIps: Array.from({ length: 51 }, (_, i) => `10.0.0.${i}`) }],
  ])("refuses %s of %j", async (field, change) => {
    const { code, details } = await outcomeOf(made(change));
    expect(code).toBe("validation_failed");
    expect(Object.keys((details as { fieldErrors: object }).fieldErrors)).toEqual([field]);
  });

  it("refuses an unknown scope by name", async () => {
    expect(await outcomeOf(made({ scopes: ["devices:read", "devices:fly"] }))).toEqual({
      code: "unknown_scope",
      scopes: ["devices:fly"],
    });
  });

  it("refuses a scope that the user no longer holds, whatever their token contains", async () => {
    const user = await keys.user(callers.orgAdmin(tenant.partnerId, tenant.orgId));
    await keys.setHeld(user, ["organizations:write", "devices:read"]);
    expect(await outcomeOf(made({ scopes: ["devices:read", "audit:read"] }, user))).toEqual({
      code: "delegation_denied",
      scopes: ["audit:read"],
    });
    expect(await outcomeOf(made({ scopes: ["*"] }, user))).toEqual({ code: "delegation_denied", scopes: ["*"] });
    expect(await codeOf(made({ scopes: ["devices:read", "logs:read"] }, user))).toBe("answered");
    expect(await codeOf(made({ scopes: ["*"] }))).toBe("answered");
  });

  it("answers 404 for an organization out of scope, missing or deleted", async () => {
    const other = await tenantOf(keys);
    const withList = await keys.user(callers.partnerWithList(tenant.partnerId, []));
    const deleted = await keys.addOrganization(tenant.partnerId);
    await keys.tell("organization", deleted, tenant.partnerId, deleted, true);
    const cases: [Caller, string][] = [
      [tenant.orgAdmin, other.orgId],
      [tenant.partnerAdmin, other.orgId],
      [withList, tenant.orgId],
      [tenant.partnerAdmin, deleted],
      [tenant.partnerAdmin, uuidv7()],
      [tenant.partnerAdmin, "nonsense"],
      [tenant.partnerAdmin, ""],
    ];
    for (const [caller, orgId] of cases) expect(await codeOf(made({ orgId }, caller))).toBe("organization_not_found");
    const root = await keys.user(callers.platformAdmin());
    expect(await codeOf(made({}, root))).toBe("answered");
    expect(await codeOf(made({}, tenant.partnerAdmin))).toBe("answered");
  });
});

describe("the management of keys", () => {
  it("requires a user with the permission, a second factor and the whole organization", async () => {
    const viewer = await keys.user(callers.orgAdmin(tenant.partnerId, tenant.orgId), ["organizations:read"]);
    const noFactor = { ...tenant.orgAdmin, mfaAt: null };
    const restricted = { ...tenant.orgAdmin, siteIds: [uuidv7()] };
    const program: Caller = { ...tenant.orgAdmin, actor: { ...tenant.orgAdmin.actor, type: "api_key" } };
    const { id } = await made();
    const mutations = (as: Caller) => [
      codeOf(made({}, as)),
      codeOf(keys.apiKeysAs(as).updateApiKey({ id, updateMask: { paths: ["name"] }, apiKey: { name: "x" } })),
      codeOf(keys.apiKeysAs(as).rotateApiKey({ id })),
      codeOf(keys.apiKeysAs(as).revokeApiKey({ id })),
    ];
    for (const [caller, code] of [
      [viewer, "permission_denied"],
      [noFactor, "mfa_required"],
      [restricted, "site_restricted"],
      [program, "user_session_required"],
    ] as const) {
      expect(await Promise.all(mutations(caller))).toEqual([code, code, code, code]);
    }
    expect(await codeOf(keys.apiKeysAs(viewer).getApiKey({ id }))).toBe("answered");
    expect(await codeOf(keys.apiKeysAs(program).getApiKey({ id }))).toBe("user_session_required");
    expect(await codeOf(keys.apiKeysAs(program).listApiKeys({}))).toBe("user_session_required");
  });

  it("answers 404 to callers of another tenant", async () => {
    const other = await tenantOf(keys);
    const { id } = await made();
    for (const as of [other.orgAdmin, other.partnerAdmin].map(keys.apiKeysAs)) {
      const calls = [
        as.getApiKey({ id }),
        as.rotateApiKey({ id }),
        as.revokeApiKey({ id }),
        as.updateApiKey({ id, updateMask: { paths: ["name"] }, apiKey: { name: "x" } }),
      ];
      expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => "api_key_not_found"));
      expect((await as.listApiKeys({})).apiKeys).toEqual([]);
    }
    expect((await admin().getApiKey({ id })).apiKey?.status).toBe("active");
  });
});

describe("listing API keys", () => {
  it("filters by organization and by status, counting a key past its expiry as expired, newest first", async () => {
    const at = timestampFromDate(minutes(5));
    const [a, b, c] = [await made({ name: "a" }), await made({ name: "b", expiresAt: at }), await made({ name: "c" })];
    const elsewhere = await made({ orgId: await keys.addOrganization(tenant.partnerId) }, tenant.partnerAdmin);
    await admin().revokeApiKey({ id: c.id });
    keys.clock.now = minutes(5);
    const ids = async (filter: object, as = tenant.orgAdmin) =>
      (await keys.apiKeysAs(as).listApiKeys(filter)).apiKeys.map(({ id, status }) => `${status} ${id}`);
    expect(await ids({ status: "active" })).toEqual([`active ${a.id}`]);
    expect(await ids({ status: "expired" })).toEqual([`expired ${b.id}`]);
    expect(await ids({ status: "revoked" })).toEqual([`revoked ${c.id}`]);
    expect((await ids({})).length).toBe(3);
    expect((await ids({}, tenant.partnerAdmin)).length).toBe(4);
    expect(await ids({ orgId: elsewhere.orgId }, tenant.partnerAdmin)).toEqual([`active ${elsewhere.id}`]);
    expect(await codeOf(admin().listApiKeys({ status: "lost" }))).toBe("validation_failed");
    expect(await codeOf(admin().listApiKeys({ orgId: "x" }))).toBe("validation_failed");
    expect((await admin().getApiKey({ id: b.id })).apiKey?.status).toBe("expired");
  });

  it("finds by a part of the name, by the beginning of the key, and by its end", async () => {
    const soon = timestampFromDate(minutes(60));
    const [ending, lasting] = [
      await made({ name: "Inventory, old", expiresAt: soon }),
      await made({ name: "Tickets" }),
    ];
    const names = async (filter: object) =>
      (await admin().listApiKeys(filter)).apiKeys.map(({ name }) => name).toSorted();
    expect(await names({ search: "INVENT" })).toEqual([ending.name]);
    expect(await names({ search: lasting.keyPrefix })).toEqual([lasting.name]);
    expect(await names({ search: lasting.keyPrefix.slice(1) })).toEqual([]);
    expect(await names({ search: "%" })).toEqual([]);
    expect(await names({ expiresBefore: timestampFromDate(minutes(61)) })).toEqual([ending.name]);
    expect(await names({ expiresBefore: timestampFromDate(minutes(60)) })).toEqual([]);
    expect(await names({ search: "t", expiresBefore: timestampFromDate(minutes(61)), status: "active" })).toEqual([
      ending.name,
    ]);
  });

  it("pages by number and by cursor without repeating or skipping", async () => {
    for (let i = 0; i < 5; i++) {
      keys.clock.now = minutes(1);
      await made({ name: `k${i}` });
    }
    const second = await admin().listApiKeys({ page: { page: 2, limit: 2 } });
    expect(second.apiKeys.map(({ name }) => name)).toEqual(["k2", "k1"]);
    expect(second.page).toMatchObject({ page: 2, limit: 2, total: 5n });
    const seen: string[] = [];
    for (let cursor = ""; ; ) {
      const { apiKeys, page } = await admin().listApiKeys({ page: { limit: 2, cursor, skipCount: true } });
      seen.push(...apiKeys.map(({ name }) => name));
      cursor = page?.nextCursor ?? "";
      if (cursor === "") break;
    }
    expect(seen).toEqual(["k4", "k3", "k2", "k1", "k0"]);
    expect(await codeOf(admin().listApiKeys({ page: { cursor: "x" } }))).toBe("validation_failed");
  });

  it("is empty for a partner user without organizations", async () => {
    await made();
    const nobody = await keys.user(callers.partnerWithList(tenant.partnerId, []));
    const { apiKeys, page } = await keys.apiKeysAs(nobody).listApiKeys({});
    expect([apiKeys, page?.total]).toEqual([[], 0n]);
  });
});

describe("changing an API key", () => {
  const change = (id: string, apiKey: Record<string, unknown>, paths: string[], as = tenant.orgAdmin) =>
    keys.apiKeysAs(as).updateApiKey({ id, updateMask: { paths }, apiKey });

  it("writes the masked fields, notifies the gateways, and audits the fields with their values", async () => {
    const { id, key, ...before } = await made();
    const wanted = { name: "Deploy", scopes: ["logs:read"], rateLimit: 7, allowedIps: ["::1"] };
    const { apiKey } = await change(id, wanted, ["name", "rate_limit", "allowed_ips"]);
    expect(apiKey).toMatchObject({ name: "Deploy", scopes: before.scopes, rateLimit: 7, allowedIps: ["::1/128"] });
    const [, row] = await keys.auditOf(id);
    expect(row?.action).toBe("api_key.update");
    expect(JSON.parse(row?.detailsJson ?? "")).toEqual({
      keyPrefix: before.keyPrefix,
      changedFields: ["name", "rateLimit", "allowedIps"],
      changes: {
        before: { name: "CI", rateLimit: 1000, allowedIps: [] },
        after: { name: "Deploy", rateLimit: 7, allowedIps: ["::1/128"] },
      },
    });
    const [events] = await keys.eventsOf(id);
    expect(events).toMatchObject({ version: 2n, revoked: false });
    expect(events?.digests.map((digest) => Buffer.from(digest))).toEqual([keyDigest(key)]);
  });

  it.each<[string, string[], Record<string, unknown>]>([
    ["no_updates", [], {}],
    ["no_updates", ["status", "expires_at", "key_prefix"], { status: "active" }],
    ["validation_failed", ["name"], { name: "" }],
    ["validation_failed", ["rate_limit"], { rateLimit: 0 }],
    ["unknown_scope", ["scopes"], { scopes: ["x"] }],
  ])("answers %s for %j of %j", async (code, paths, apiKey) => {
    const { id } = await made();
    expect(await codeOf(change(id, apiKey, paths))).toBe(code);
    expect(await keys.auditOf(id)).toHaveLength(1);
  });

  it("grants only scopes that the user holds now", async () => {
    const { id } = await made();
    const user = await keys.user(callers.orgAdmin(tenant.partnerId, tenant.orgId), ["organizations:write"]);
    expect(await outcomeOf(change(id, { scopes: ["devices:read"] }, ["scopes"], user))).toEqual({
      code: "delegation_denied",
      scopes: ["devices:read"],
    });
    expect(await codeOf(change(id, { scopes: [] }, ["scopes"], user))).toBe("answered");
    expect(await codeOf(change(id, { name: "renamed" }, ["name"], user))).toBe("answered");
  });

  it("raises no limit and widens no address list of a key whose scopes the user does not hold now", async () => {
    const { id } = await made();
    const user = await keys.user(callers.orgAdmin(tenant.partnerId, tenant.orgId), ["organizations:write"]);
    const denied = { code: "delegation_denied", scopes: ["devices:read"] };
    expect(await outcomeOf(change(id, { rateLimit: 100_000 }, ["rate_limit"], user))).toEqual(denied);
    expect(await outcomeOf(change(id, { allowedIps: [] }, ["allowed_ips"], user))).toEqual(denied);
    expect(await outcomeOf(change(id, { name: "x", rateLimit: 5 }, ["name", "rate_limit"], user))).toEqual(denied);
    expect((await admin().getApiKey({ id })).apiKey).toMatchObject({ name: "CI", rateLimit: 1000 });
    // As it will be: without scopes it grants nothing.
    const less = change(id, { scopes: [], rateLimit: 5 }, ["scopes", "rate_limit"], user);
    expect(await codeOf(less)).toBe("answered");
    expect(await codeOf(change(id, { rateLimit: 7 }, ["rate_limit"], user))).toBe("answered");
  });

  it("requires an active key, as a rotation does: not revoked and not expired", async () => {
    const [revoked, expired] = [await made(), await made({ expiresAt: timestampFromDate(minutes(1)) })];
    await admin().revokeApiKey({ id: revoked.id });
    keys.clock.now = minutes(1);
    for (const { id } of [revoked, expired]) {
      expect(await codeOf(change(id, { name: "x" }, ["name"]))).toBe("key_not_active");
      expect(await codeOf(admin().rotateApiKey({ id }))).toBe("key_not_active");
    }
    expect((await keys.eventsOf(expired.id)).length).toBe(0);
  });
});

describe("rotating an API key", () => {
  it("replaces the secret under the same id, resets its usage, and announces both digests", async () => {
    const { id, key, ...before } = await made({ rateLimit: 9, allowedIps: ["192.0.2.0/24"] });
    await keys.db.tx(keys.system, (tx) =>
      tx.execute(sql`UPDATE api_keys SET usage_count = 12, last_used_at = now() WHERE id = ${id}`),
    );
    const rotated = await admin().rotateApiKey({ id });
    expect(rotated.key).not.toBe(key);
    expect(rotated.apiKey).toEqual({ ...before, id, keyPrefix: rotated.key.slice(0, 12) });
    const [row] = await keys.db.read(
      keys.system,
      sql`SELECT digest, previous_digest, generation FROM api_keys WHERE id = ${id}`,
    );
    expect(row).toEqual({ digest: keyDigest(rotated.key), previous_digest: null, generation: 2 });
    const [events] = await keys.eventsOf(id);
    expect(events?.digests.map((d) => Buffer.from(d).toString("hex")).sort()).toEqual(
      [keyDigest(key), keyDigest(rotated.key)].map((d) => d.toString("hex")).sort(),
    );
    const [, audited] = await keys.auditOf(id);
    expect(audited?.action).toBe("api_key.rotate");
    expect(JSON.parse(audited?.detailsJson ?? "")).toEqual({
      keyPrefix: rotated.key.slice(0, 12),
      previousKeyPrefix: key.slice(0, 12),
      graceSeconds: 0,
    });
  });

  it("keeps the old secret valid for a requested grace, and for one rotation only", async () => {
    const first = await made();
    const second = await admin().rotateApiKey({ id: first.id, graceSeconds: 60 });
    const state = async () =>
      (
        await keys.db.read<{ previous_digest: Buffer; previous_valid_until: Date }>(
          keys.system,
          sql`SELECT previous_digest, previous_valid_until FROM api_keys WHERE id = ${first.id}`,
        )
      )[0];
    expect(await state()).toEqual({ previous_digest: keyDigest(first.key), previous_valid_until: minutes(1) });
    await admin().rotateApiKey({ id: first.id, graceSeconds: 86_400 });
    expect((await state())?.previous_digest).toEqual(keyDigest(second.key));
    const events = await keys.eventsOf(first.id);
    expect(events.at(-1)?.digests.map((d) => Buffer.from(d))).toContainEqual(keyDigest(first.key));
    expect(await codeOf(admin().rotateApiKey({ id: first.id, graceSeconds: 86_401 }))).toBe("validation_failed");
    expect(await codeOf(admin().rotateApiKey({ id: first.id, graceSeconds: -1 }))).toBe("validation_failed");
  });

  it("requires a user who holds the key's scopes", async () => {
    const { id } = await made({ scopes: ["*"] });
    const user = await keys.user(callers.orgAdmin(tenant.partnerId, tenant.orgId), ["organizations:write"]);
    expect(await outcomeOf(keys.apiKeysAs(user).rotateApiKey({ id }))).toEqual({
      code: "delegation_denied",
      scopes: ["*"],
    });
  });
});

describe("revoking an API key", () => {
  it("is permanent, keeps the record, and is audited once however often it is repeated", async () => {
    const { id } = await made();
    for (let i = 0; i < 3; i++) await admin().revokeApiKey({ id });
    expect((await admin().getApiKey({ id })).apiKey?.status).toBe("revoked");
    expect((await keys.auditOf(id)).map(({ action }) => action)).toEqual(["api_key.create", "api_key.revoke"]);
    expect((await keys.eventsOf(id)).every(({ revoked }) => revoked)).toBe(true);
  });

  it("revokes a whole tenant's keys, principals and enrollment keys, and notifies the gateways once", async () => {
    const other = await made({ orgId: await keys.addOrganization(tenant.partnerId) }, tenant.partnerAdmin);
    const mine = [await made(), await made()];
    await keys.principalsAs(tenant.orgAdmin).createServicePrincipal({ orgId: tenant.orgId, name: "p" });
    await keys.enrollmentKeysAs(tenant.orgAdmin).createEnrollmentKey({ name: "e" });
    const tenantCase = { case: "orgId", value: tenant.orgId } as const;
    const partner = keys.apiKeysAs(tenant.partnerAdmin);
    expect(await partner.revokeTenantCredentials({ tenant: tenantCase })).toMatchObject({
      apiKeys: 3,
      servicePrincipals: 1,
      enrollmentKeys: 1,
      sessions: 0,
    });
    for (const { id } of mine) {
      expect((await partner.getApiKey({ id })).apiKey?.status).toBe("revoked");
      expect((await keys.auditOf(id)).at(-1)?.action).toBe("api_key.revoke");
    }
    expect((await partner.getApiKey({ id: other.id })).apiKey?.status).toBe("active");
    const partnerCase = { case: "partnerId", value: tenant.partnerId } as const;
    expect(await codeOf(admin().revokeTenantCredentials({ tenant: tenantCase }))).toBe("scope_not_allowed");
    const otherAdmin = (await tenantOf(keys)).partnerAdmin;
    expect(await codeOf(keys.apiKeysAs(otherAdmin).revokeTenantCredentials({ tenant: partnerCase }))).toBe(
      "partner_not_found",
    );
    expect(await partner.revokeTenantCredentials({ tenant: partnerCase })).toMatchObject({ apiKeys: 1 });
  });

  it("follows the deletion of the organization", async () => {
    const { id } = await made();
    await keys.tell("organization", tenant.orgId, tenant.partnerId, tenant.orgId, true);
    expect((await keys.apiKeysAs(tenant.partnerAdmin).getApiKey({ id })).apiKey?.status).toBe("revoked");
    const last = (await keys.auditOf(id)).at(-1);
    expect([last?.action, last?.actorType]).toEqual(["api_key.revoke", "system"]);
  });
});

describe("a key's expiry", () => {
  it("is stored to the millisecond", async () => {
    const { expiresAt } = await made({ expiresAt: timestampFromDate(minutes(3)) });
    expect(expiresAt && timestampDate(expiresAt)).toEqual(minutes(3));
  });
});
