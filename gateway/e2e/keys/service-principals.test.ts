import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { ownTenant } from "../support/own-tenant.ts";
import { auditRows, enrolledAs, fieldsOf, tenantWithAdmins } from "../support/tenant-with-admins.ts";
import { newSite, signedInAs } from "../support/users.ts";

const { cluster, tenant, call } = ownTenant();

type Made = { id: string; key: string; keyId: string; warning: string };

async function made(scopes: string[] = ["devices:read", "devices:write"]) {
  const { status, body } = await call("POST", "/service-principals", { orgId: tenant.orgId, name: "robot", scopes });
  if (status !== 201) throw new Error(`POST /service-principals answered ${status}: ${JSON.stringify(body)}`);
  return body as unknown as Made;
}

describe("a service principal", () => {
  it("is created with its first key, shown once and never cached", async () => {
    const wanted = { orgId: tenant.orgId, name: "robot", scopes: ["devices:read"] };
    const reply = await call("POST", "/service-principals", wanted);
    expect([reply.status, reply.headers.get("cache-control")]).toEqual([201, "private, no-store"]);
    const { key, keyId, warning, ...record } = reply.body as unknown as Made & Record<string, unknown>;
    expect(warning).toMatch(/cannot be shown again/);
    expect([key, keyId]).toEqual([expect.stringMatching(/^svc_/), expect.any(String)]);
    expect(record).toEqual({
      ...wanted,
      id: expect.any(String),
      status: "active",
      keyPrefix: key.slice(0, 12),
      createdBy: tenant.admin.id,
      createdAt: expect.any(String),
      updatedAt: record.createdAt,
    });
    expect((await call("GET", `/service-principals/${record.id}`)).body).toEqual(record);
    expect((await call("GET", "/service-principals?status=active&limit=100")).body.data).toContainEqual(record);
    const { body } = await call("GET", `/api-keys/${keyId}`);
    expect(body).toMatchObject({ principalId: record.id, scopes: ["devices:read"], status: "active" });
    const [row] = await auditRows(tenant.admin.api, tenant.orgId, record.id, 1);
    expect(row).toMatchObject({ action: "service_principal.create", details: { keyPrefix: key.slice(0, 12) } });
    expect(JSON.stringify(row)).not.toContain(key.slice(12));
  });

  it("gets a new key by rotation, the one before being revoked", async () => {
    const { id, keyId } = await made();
    const { status, body, headers } = await call("POST", `/service-principals/${id}/rotate`);
    expect([status, headers.get("cache-control")]).toEqual([200, "private, no-store"]);
    expect(body).toEqual({
      keyId: expect.any(String),
      key: expect.stringMatching(/^svc_/),
      keyPrefix: String(body.key).slice(0, 12),
      warning: expect.any(String),
    });
    expect((await call("GET", `/api-keys/${keyId}`)).body.status).toBe("revoked");
    expect((await call("GET", `/api-keys/${body.keyId}`)).body.status).toBe("active");
    expect((await call("GET", `/service-principals/${id}`)).body.keyPrefix).toBe(body.keyPrefix);
  });

  it("adopts a key of its organization with the scopes that both allow", async () => {
    const { id, keyId } = await made();
    const wanted = { orgId: tenant.orgId, name: "old script", scopes: ["devices:read", "audit:read"], rateLimit: 3 };
    const plain = (await call("POST", "/api-keys", wanted)).body;
    const { status, body } = await call("POST", `/service-principals/${id}/migrate-key`, { keyId: plain.id });
    const { key: _key, keyId: _keyId, warning: _warning, ...record } = plain;
    expect([status, body]).toEqual([200, { ...record, scopes: ["devices:read"], principalId: id }]);
    expect((await call("GET", `/api-keys/${keyId}`)).body.status).toBe("revoked");
    const widened = await call("PATCH", `/api-keys/${plain.id}`, { scopes: ["audit:read"] });
    expect([widened.status, widened.body.code, widened.body.scopes]).toEqual([
      403,
      "delegation_denied",
      ["audit:read"],
    ]);
    const other = await tenantWithAdmins(cluster);
    const foreign = await other.admin.api.call("POST", "/api-keys", { orgId: other.orgId, name: "foreign" });
    for (const keyId of [randomUUID(), foreign.body.id]) {
      const reply = await call("POST", `/service-principals/${id}/migrate-key`, { keyId });
      expect([reply.status, reply.body.code]).toEqual([404, "api_key_not_found"]);
    }
    const revoked = await call("POST", `/service-principals/${id}/migrate-key`, { keyId });
    expect([revoked.status, revoked.body.code]).toEqual([409, "key_not_active"]);
    expect(fieldsOf((await call("POST", `/service-principals/${id}/migrate-key`, {})).body)).toEqual(["keyId"]);
  });

  it("is disabled with its keys, twice is fine, and stays so", async () => {
    const { id, keyId } = await made();
    for (let i = 0; i < 2; i++) {
      const { status, body } = await call("POST", `/service-principals/${id}/disable`);
      expect([status, body.status, body.keyPrefix]).toEqual([200, "disabled", null]);
    }
    expect((await call("GET", `/api-keys/${keyId}`)).body.status).toBe("revoked");
    const rotate = await call("POST", `/service-principals/${id}/rotate`);
    expect([rotate.status, rotate.body.code]).toEqual([409, "principal_disabled"]);
    const { data } = (await call("GET", "/service-principals?status=disabled&limit=100")).body;
    expect((data as { id: string }[]).map((p) => p.id)).toContain(id);
    const rows = await auditRows(tenant.admin.api, tenant.orgId, id, 2);
    expect(rows.map(({ action }) => action)).toEqual(["service_principal.create", "service_principal.disable"]);
  });

  it("keeps one active key under 20 parallel rotations and adoptions", async () => {
    const { id } = await made();
    const wanted = { orgId: tenant.orgId, name: "adopted", scopes: ["devices:read"] };
    const plain = [];
    for (let i = 0; i < 10; i++) plain.push((await call("POST", "/api-keys", wanted)).body.id);
    const replies = await Promise.all(
      plain.flatMap((keyId) => [
        call("POST", `/service-principals/${id}/rotate`),
        call("POST", `/service-principals/${id}/migrate-key`, { keyId }),
      ]),
    );
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    const { data } = (await call("GET", "/api-keys?status=active&limit=100")).body;
    expect((data as { principalId: string }[]).filter(({ principalId }) => principalId === id)).toHaveLength(1);
  });

  it("is outside of the access scope without rights, for people of some sites, and for other tenants", async () => {
    const { id } = await made();
    const create = { orgId: tenant.orgId, name: "robot" };
    const siteId = await newSite(cluster, tenant.orgId);
    const viewer = await signedInAs(cluster, "org-viewer", { orgId: tenant.orgId });
    const ofSite = await enrolledAs(cluster, "org-admin", { orgId: tenant.orgId, siteIds: [siteId] });
    const other = await tenantWithAdmins(cluster);
    const codeOf = async (as: typeof viewer, method: string, path: string, body?: object) => {
      const reply = await as.api.call(method, path, body);
      return `${reply.status} ${reply.body.code}`;
    };
    expect(await codeOf(viewer, "POST", "/service-principals", create)).toBe("403 permission_denied");
    expect(await codeOf(ofSite, "POST", "/service-principals", create)).toBe("403 site_restricted");
    expect(await codeOf(ofSite, "POST", `/service-principals/${id}/disable`)).toBe("403 site_restricted");
    expect(await codeOf(other.partnerAdmin, "POST", "/service-principals", create)).toBe("404 organization_not_found");
    expect(await codeOf(other.admin, "GET", `/service-principals/${id}`)).toBe("404 service_principal_not_found");
    expect(await codeOf(other.admin, "POST", `/service-principals/${id}/rotate`)).toBe(
      "404 service_principal_not_found",
    );
    const unknown = await call("POST", "/service-principals", { ...create, scopes: ["x:y"] });
    expect([unknown.status, unknown.body.code]).toEqual([400, "unknown_scope"]);
  });
});
