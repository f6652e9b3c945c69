import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { ownTenant } from "../support/own-tenant.ts";
import { auditRows, fieldsOf, tenantWithAdmins } from "../support/tenant-with-admins.ts";
import { newOrganization, newSite, signedInAs } from "../support/users.ts";

const { cluster, tenant, call } = ownTenant();

async function made(change: object = {}) {
  const { status, body } = await call("POST", "/enrollment-keys", { name: "Fleet", ...change });
  if (status !== 201) throw new Error(`POST /enrollment-keys answered ${status}: ${JSON.stringify(body)}`);
  return body as Record<string, unknown> & { id: string; key: string };
}

describe("an enrollment key", () => {
  it("is created in the caller's organization for one use within an hour, shown once", async () => {
    const reply = await call("POST", "/enrollment-keys", { name: "Fleet" });
    expect([reply.status, reply.headers.get("cache-control")]).toEqual([201, "private, no-store"]);
    const { key, keyId, keyPrefix, warning, ...record } = reply.body;
    expect([keyId, keyPrefix]).toEqual([record.id, String(key).slice(0, 12)]);
    expect(warning).toMatch(/cannot be shown again/);
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    const createdAt = String(record.createdAt);
    expect(record).toEqual({
      id: expect.any(String),
      orgId: tenant.orgId,
      siteId: null,
      name: "Fleet",
      reinstall: "quarantine",
      usageCount: 0,
      maxUsage: 1,
      expiresAt: new Date(Date.parse(createdAt) + 3_600_000).toISOString(),
      createdBy: tenant.admin.id,
      createdAt,
    });
    expect((await call("GET", `/enrollment-keys/${record.id}`)).body).toEqual(record);
    expect((await call("GET", "/enrollment-keys?expired=false&limit=100")).body.data).toContainEqual(record);
    expect((await call("GET", "/enrollment-keys?expired=true&limit=100")).body.data).toEqual([]);
    const [row] = await auditRows(tenant.admin.api, tenant.orgId, String(record.id), 1);
    expect(row).toMatchObject({ action: "enrollment_key.create", resource: { name: "Fleet" } });
    expect(JSON.stringify(row)).not.toContain(String(key).slice(12));
  });

  it("takes site, uses and expiry", async () => {
    const siteId = await newSite(cluster, tenant.orgId);
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    expect(await made({ siteId, maxUsage: 100_000, expiresAt })).toMatchObject({
      siteId,
      maxUsage: 100_000,
      expiresAt,
    });
  });

  it("needs an organization from a partner's users, one in their scope", async () => {
    const post = async (change: object) => {
      const { status, body } = await tenant.partnerAdmin.api.call("POST", "/enrollment-keys", { name: "n", ...change });
      return [status, body.code];
    };
    expect(await post({})).toEqual([400, "organization_context_required"]);
    expect(await post({ orgId: tenant.orgId })).toEqual([201, undefined]);
    expect(await post({ orgId: randomUUID() })).toEqual([404, "organization_not_found"]);
    const sibling = await newOrganization(cluster, tenant.partnerId);
    const siteId = await newSite(cluster, sibling);
    expect(await post({ orgId: tenant.orgId, siteId })).toEqual([404, "site_not_found"]);
  });

  it.each<[string, object]>([
    ["name", { name: "" }],
    ["name", { name: "x".repeat(256) }],
    ["maxUsage", { maxUsage: null }],
    ["maxUsage", { maxUsage: 0 }],
    ["maxUsage", { maxUsage: 100_001 }],
    ["maxUsage", { maxUsage: "3" }],
    ["expiresAt", { expiresAt: "2001-01-01" }],
    ["siteId", { siteId: "x" }],
  ])("with a bad %s (%j) is a 400 that names it", async (field, change) => {
    const reply = await call("POST", "/enrollment-keys", { name: "Fleet", ...change });
    expect([reply.status, fieldsOf(reply.body)]).toEqual([400, [field]]);
  });

  it("is rotated: a new key, its limits kept unless new ones are sent", async () => {
    const { key, keyPrefix: _prefix, ...record } = await made({ maxUsage: 3 });
    const rotate = (body?: object) => call("POST", `/enrollment-keys/${record.id}/rotate`, body);
    const reply = await rotate();
    expect([reply.status, reply.headers.get("cache-control")]).toEqual([200, "private, no-store"]);
    const { key: next, keyPrefix, ...rotated } = reply.body;
    expect(keyPrefix).toBe(String(next).slice(0, 12));
    expect(next).toMatch(/^[0-9a-f]{64}$/);
    expect(next).not.toBe(key);
    expect(rotated).toEqual(record);
    expect((await rotate({ maxUsage: null })).body.maxUsage).toBeNull();
    expect((await rotate({})).body.maxUsage).toBeNull();
    const expiresAt = new Date(Date.now() + 7_200_000).toISOString();
    expect((await rotate({ maxUsage: 5, expiresAt })).body).toMatchObject({ maxUsage: 5, expiresAt });
    expect(fieldsOf((await rotate({ maxUsage: 0 })).body)).toEqual(["maxUsage"]);
    expect(fieldsOf((await rotate({ expiresAt: "2001-01-01T00:00:00Z" })).body)).toEqual(["expiresAt"]);
  });

  it("is deleted permanently, and each change is sealed once", async () => {
    const { id } = await made();
    await call("POST", `/enrollment-keys/${id}/rotate`);
    const { status, body } = await call("DELETE", `/enrollment-keys/${id}`);
    expect([status, body]).toEqual([200, { success: true }]);
    for (const [method, path] of [
      ["GET", `/enrollment-keys/${id}`],
      ["DELETE", `/enrollment-keys/${id}`],
      ["POST", `/enrollment-keys/${id}/rotate`],
    ] as const) {
      const reply = await call(method, path);
      expect([reply.status, reply.body.code]).toEqual([404, "enrollment_key_not_found"]);
    }
    const rows = await auditRows(tenant.admin.api, tenant.orgId, id, 3);
    expect(rows.map(({ action }) => action)).toEqual([
      "enrollment_key.create",
      "enrollment_key.rotate",
      "enrollment_key.delete",
    ]);
  });

  it("is managed with permission and second factor, and is not there for other tenants", async () => {
    const { id } = await made();
    const viewer = await signedInAs(cluster, "org-viewer", { orgId: tenant.orgId });
    const plain = await signedInAs(cluster, "org-admin", { orgId: tenant.orgId });
    const other = await tenantWithAdmins(cluster);
    const outcome = async (as: typeof viewer) => {
      const reply = await as.api.call("POST", `/enrollment-keys/${id}/rotate`, { maxUsage: 0 });
      return `${reply.status} ${reply.body.code}`;
    };
    expect(await outcome(viewer)).toBe("403 permission_denied");
    expect(await outcome(plain)).toBe("403 mfa_required");
    expect(await outcome(other.admin)).toBe("400 validation_failed");
    const theirs = other.partnerAdmin.api;
    expect((await theirs.call("DELETE", `/enrollment-keys/${id}`)).body.code).toBe("enrollment_key_not_found");
    expect((await theirs.call("GET", "/enrollment-keys")).body.data).toEqual([]);
    expect((await viewer.api.call("GET", `/enrollment-keys/${id}`)).status).toBe(200);
  });
});
