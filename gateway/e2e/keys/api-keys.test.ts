import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { api } from "../support/client.ts";
import { ownTenant } from "../support/own-tenant.ts";
import { auditRows, fieldsOf, tenantWithAdmins } from "../support/tenant-with-admins.ts";
import { newOrganization, operator, signedInAs } from "../support/users.ts";

const { cluster, tenant, call } = ownTenant();
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

async function made(change: object = {}) {
  const { status, body } = await call("POST", "/api-keys", { orgId: tenant.orgId, name: "CI", ...change });
  if (status !== 201) throw new Error(`POST /api-keys answered ${status}: ${JSON.stringify(body)}`);
  return body as Record<string, unknown> & { id: string; key: string; keyPrefix: string };
}

describe("an API key", () => {
  it("is created with 201, the documented defaults, the key once, and no cache", async () => {
    const reply = await call("POST", "/api-keys", { orgId: tenant.orgId, name: "CI", unknown: 1 });
    const { key, keyId, warning, ...record } = reply.body;
    expect(keyId).toBe(record.id);
    expect([reply.status, reply.headers.get("cache-control")]).toEqual([201, "private, no-store"]);
    expect(key).toMatch(/^svc_[A-Za-z0-9_-]{31}[AQgw]$/);
    expect(warning).toMatch(/cannot be shown again/);
    expect(record).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      orgId: tenant.orgId,
      name: "CI",
      keyPrefix: String(key).slice(0, 12),
      scopes: [],
      expiresAt: null,
      rateLimit: 1000,
      allowedIps: [],
      createdBy: tenant.admin.id,
      createdAt: expect.stringMatching(time),
      status: "active",
      lastUsedAt: null,
      usageCount: 0,
      principalId: null,
    });
    expect((await call("GET", `/api-keys/${record.id}`)).body).toEqual(record);
    const { body } = await call("GET", "/api-keys?limit=100&status=active");
    expect(body.data).toContainEqual(record);
  });

  it("takes every documented field", async () => {
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    const wanted = { scopes: ["devices:read", "scripts:execute"], rateLimit: 100_000, expiresAt };
    expect(await made({ ...wanted, allowedIps: ["10.1.2.3/8", "2001:DB8::/32"] })).toMatchObject({
      ...wanted,
      allowedIps: ["10.0.0.0/8", "2001:db8::/32"],
    });
  });

  it("is refused with every error of its body", async () => {
    const wanted = { name: "", scopes: ["nope"], expiresAt: "2020-01-01", allowedIps: ["10.0.0.0/33"] };
    const { status, body } = await call("POST", "/api-keys", { orgId: tenant.orgId, ...wanted });
    expect([status, body.code]).toEqual([400, "validation_failed"]);
    expect(fieldsOf(body).sort()).toEqual(["allowedIps", "expiresAt", "name", "scopes"]);
  });

  it.each<[string, object]>([
    ["orgId", { orgId: "x" }],
    ["orgId", { orgId: null }],
    ["name", { name: "" }],
    ["name", { name: "x".repeat(256) }],
    ["name", { name: 1 }],
    ["scopes", { scopes: "devices:read" }],
    ["scopes.0", { scopes: [1] }],
    ["rateLimit", { rateLimit: 0 }],
    ["rateLimit", { rateLimit: 100_001 }],
    ["rateLimit", { rateLimit: 1.5 }],
    ["rateLimit", { rateLimit: null }],
    ["expiresAt", { expiresAt: "2001-01-01T00:00:00Z" }],
    ["expiresAt", { expiresAt: "tomorrow" }],
    ["allowedIps", { allowedIps: ["10.0.0.0/40"] }],
  ])("with a bad %s (%j) is a 400 that names it", async (field, change) => {
    const reply = await call("POST", "/api-keys", { orgId: tenant.orgId, name: "CI", ...change });
    expect([reply.status, reply.body.code, fieldsOf(reply.body)]).toEqual([400, "validation_failed", [field]]);
  });

  it("with an unknown scope is 400, with one that its maker lacks 403, elsewhere 404", async () => {
    const refused = async (as: typeof tenant.admin, change: object) => {
      const { status, body } = await as.api.call("POST", "/api-keys", { orgId: tenant.orgId, name: "CI", ...change });
      return [status, body.code, body.scopes];
    };
    expect(await refused(tenant.admin, { scopes: ["devices:fly"] })).toEqual([400, "unknown_scope", ["devices:fly"]]);
    expect(await refused(tenant.admin, { orgId: randomUUID() })).toEqual([404, "organization_not_found", undefined]);
    const sibling = await newOrganization(cluster, tenant.partnerId);
    expect(await refused(tenant.admin, { orgId: sibling })).toEqual([404, "organization_not_found", undefined]);
    expect((await refused(tenant.partnerAdmin, { orgId: sibling, scopes: ["*"] }))[0]).toBe(201);
  });

  it("is managed with permission and second factor, in this order", async () => {
    const viewer = await signedInAs(cluster, "org-viewer", { orgId: tenant.orgId });
    const plain = await signedInAs(cluster, "org-admin", { orgId: tenant.orgId });
    const { id } = await made();
    const mutations: [string, string][] = [
      ["POST", "/api-keys"],
      ["PATCH", `/api-keys/${id}`],
      ["DELETE", `/api-keys/${id}`],
      ["POST", `/api-keys/${id}/rotate`],
    ];
    for (const [method, path] of mutations) {
      const body = method === "DELETE" ? undefined : { name: 7 };
      const codes = [];
      for (const as of [api(cluster), viewer.api, plain.api]) {
        const reply = await as.call(method, path, body);
        codes.push(`${reply.status} ${reply.body.code}`);
      }
      expect(codes).toEqual(["401 unauthenticated", "403 permission_denied", "403 mfa_required"]);
    }
    expect((await viewer.api.call("GET", `/api-keys/${id}`)).status).toBe(200);
  });

  it("in another tenant is not there", async () => {
    const { id } = await made();
    const other = await tenantWithAdmins(cluster);
    for (const as of [other.admin, other.partnerAdmin]) {
      const replies = [
        await as.api.call("GET", `/api-keys/${id}`),
        await as.api.call("PATCH", `/api-keys/${id}`, { name: "mine" }),
        await as.api.call("DELETE", `/api-keys/${id}`),
        await as.api.call("POST", `/api-keys/${id}/rotate`),
      ];
      expect(replies.map((r) => [r.status, r.body.code])).toEqual(replies.map(() => [404, "api_key_not_found"]));
      const filtered = await as.api.call("GET", `/api-keys?orgId=${tenant.orgId}`);
      expect([filtered.status, filtered.body.code]).toEqual([404, "organization_not_found"]);
    }
    expect((await call("GET", "/api-keys/nonsense")).body.code).toBe("validation_failed");
  });

  it("is changed field by field; nothing recognised is 400", async () => {
    const { id, key, keyId: _keyId, warning: _warning, ...record } = await made({ scopes: ["devices:read"] });
    const change = { name: "Deploy", scopes: ["logs:read"], rateLimit: 5, allowedIps: ["192.0.2.1"] };
    const { status, body } = await call("PATCH", `/api-keys/${id}`, change);
    expect([status, body]).toEqual([200, { ...record, id, ...change, allowedIps: ["192.0.2.1/32"] }]);
    for (const nothing of [{}, { key, status: "revoked", expiresAt: null }]) {
      const reply = await call("PATCH", `/api-keys/${id}`, nothing);
      expect([reply.status, reply.body.code, reply.body.error]).toEqual([400, "no_updates", "No updates provided"]);
    }
  });

  it("gets a new secret by rotation, everything else kept", async () => {
    const { id, key, warning: _atCreation, ...record } = await made({ rateLimit: 7, scopes: ["devices:read"] });
    const reply = await call("POST", `/api-keys/${id}/rotate`);
    expect([reply.status, reply.headers.get("cache-control")]).toEqual([200, "private, no-store"]);
    const { key: next, ...rotated } = reply.body;
    expect(next).not.toBe(key);
    expect(rotated).toEqual({ ...record, id, keyPrefix: String(next).slice(0, 12) });
    for (const graceSeconds of [-1, 86_401, 1.5, "60"]) {
      expect((await call("POST", `/api-keys/${id}/rotate`, { graceSeconds })).body.code).toBe("validation_failed");
    }
    expect((await call("POST", `/api-keys/${id}/rotate`, { graceSeconds: 60 })).status).toBe(200);
  });

  it("is revoked permanently, and each change is sealed once with the prefix alone", async () => {
    const { id, key, keyPrefix } = await made();
    await call("PATCH", `/api-keys/${id}`, { name: "Renamed" });
    const rotated = (await call("POST", `/api-keys/${id}/rotate`)).body;
    for (let i = 0; i < 2; i++) {
      const { status, body } = await call("DELETE", `/api-keys/${id}`);
      expect([status, body]).toEqual([200, { success: true }]);
    }
    expect((await call("GET", `/api-keys/${id}`)).body.status).toBe("revoked");
    for (const [method, path] of [
      ["PATCH", `/api-keys/${id}`],
      ["POST", `/api-keys/${id}/rotate`],
    ] as const) {
      const { status, body } = await call(method, path, { name: "x" });
      expect([status, body.code]).toEqual([409, "key_not_active"]);
      expect(body.error).toBe("Only active keys can be updated or rotated");
    }
    const rows = await auditRows(tenant.admin.api, tenant.orgId, id, 4);
    expect(rows.map(({ action }) => action)).toEqual([
      "api_key.create",
      "api_key.update",
      "api_key.rotate",
      "api_key.revoke",
    ]);
    expect(rows[0]?.details.keyPrefix).toBe(keyPrefix);
    expect(rows[1]?.details.changedFields).toEqual(["name"]);
    for (const secret of [key, String(rotated.key)]) expect(JSON.stringify(rows)).not.toContain(secret.slice(12));
  });

  it("ends with its organization", async () => {
    const orgId = await newOrganization(cluster, tenant.partnerId);
    const { body } = await tenant.partnerAdmin.api.call("POST", "/api-keys", { orgId, name: "doomed" });
    const root = await operator(cluster);
    expect((await root.call("DELETE", `/orgs/organizations/${orgId}`)).status).toBe(200);
    const rows = await auditRows(root, orgId, String(body.id), 2);
    expect(rows.at(-1)).toMatchObject({ action: "api_key.revoke", details: { reason: "tenant_deleted" } });
    expect((await root.call("GET", `/api-keys/${body.id}`)).body.status).toBe("revoked");
  });
});

describe("the list of API keys", () => {
  it("takes page, limit, status and organization; numbers are clamped, words are not", async () => {
    const fresh = await tenantWithAdmins(cluster);
    const list = async (query: string) => (await fresh.partnerAdmin.api.call("GET", `/api-keys?${query}`)).body;
    for (const name of ["a", "b", "c"]) {
      await fresh.admin.api.call("POST", "/api-keys", { orgId: fresh.orgId, name });
    }
    const names = (body: { data?: unknown[] }) => (body.data as { name: string }[]).map(({ name }) => name);
    const first = await list("limit=2&page=0");
    expect([names(first), first.pagination]).toEqual([
      ["c", "b"],
      { page: 1, limit: 2, total: 3, nextCursor: expect.any(String) },
    ]);
    const { nextCursor } = first.pagination as { nextCursor: string };
    expect(names(await list(`limit=2&cursor=${encodeURIComponent(nextCursor)}`))).toEqual(["a"]);
    for (const other of [`orgId=${fresh.orgId}`, "status=active", "search=a"]) {
      expect((await list(`${other}&cursor=${nextCursor}`)).code).toBe("cursor_mismatch");
    }
    const elsewhere = [
      await fresh.partnerAdmin.api.call("GET", `/enrollment-keys?cursor=${nextCursor}`),
      await fresh.admin.api.call("GET", `/api-keys?cursor=${nextCursor}`),
      await (await operator(cluster)).call("GET", `/api-keys?cursor=${nextCursor}`),
    ];
    expect(elsewhere.map(({ body }) => body.code)).toEqual(Array(3).fill("cursor_mismatch"));
    expect(names(await list("limit=2&page=2"))).toEqual(["a"]);
    expect((await list("limit=1000")).pagination).toMatchObject({ limit: 100 });
    expect(names(await list("status=revoked"))).toEqual([]);
    expect(names(await list(`orgId=${fresh.orgId}&status=active`))).toEqual(["c", "b", "a"]);
    expect((await list("status=lost")).code).toBe("validation_failed");
    expect((await list("orgId=7")).code).toBe("validation_failed");
    expect((await list("cursor=7")).code).toBe("validation_failed");
    const nobody = await signedInAs(cluster, "partner-admin", { partnerId: fresh.partnerId, orgAccess: "none" });
    expect((await nobody.api.call("GET", "/api-keys")).body).toMatchObject({ data: [], pagination: { total: 0 } });
  });
});
