import { describe, expect, it } from "@jest/globals";
import { newKey } from "../support/keys.ts";
import { ownTenant } from "../support/own-tenant.ts";
import { auditRows, enrolledAs, fieldsOf } from "../support/tenant-with-admins.ts";
import { operator, roleId, signedInAs } from "../support/users.ts";

const { cluster, tenant, call } = ownTenant();

type Token = { id: string; prefix: string; expiresAt: string | null };
const tokensOf = (body: Record<string, unknown>) => body.tokens as Token[];

describe("a directory", () => {
  it("goes from created to rotated to paused to deleted, and shows each token once", async () => {
    const made = await call("POST", "/directories", { name: "Entra ID", preset: "entra" });
    expect([made.status, made.body.code]).toEqual([201, undefined]);
    const { token, warning, ...record } = made.body;
    expect([String(token), typeof warning]).toEqual([expect.stringMatching(/^scim_[\w-]{43}$/), "string"]);
    expect(record).toMatchObject({ orgId: tenant.orgId, partnerId: null, status: "active", defaultRoleId: null });
    expect(record.scimUrl).toMatch(/^https?:\/\/.*\/api\/v1\/scim\/v2$/);
    expect(tokensOf(record)).toEqual([
      { id: expect.any(String), prefix: String(token).slice(0, 10), createdAt: expect.any(String), expiresAt: null },
    ]);
    const id = String(record.id);
    expect((await call("GET", `/directories/${id}`)).body).toEqual(record);
    const listed = await call("GET", `/directories?orgId=${tenant.orgId}`);
    expect(listed.body).toMatchObject({ data: [{ id }], pagination: { total: 1 } });

    const rotated = await call("POST", `/directories/${id}/tokens`, { graceHours: 24 });
    expect([rotated.status, rotated.body.token === token]).toEqual([201, false]);
    const [second, first] = tokensOf(rotated.body);
    const left = Date.parse(first?.expiresAt ?? "") - Date.now();
    expect([second?.expiresAt, left > 23.9 * 3_600_000 && left <= 24 * 3_600_000]).toEqual([null, true]);
    const atOnce = await call("POST", `/directories/${id}/tokens`, { graceHours: 0 });
    expect(tokensOf(atOnce.body)).toHaveLength(1);
    expect((await call("DELETE", `/directories/${id}/tokens`)).body).toEqual({ success: true });
    expect(tokensOf((await call("GET", `/directories/${id}`)).body)).toEqual([]);

    const paused = await call("POST", `/directories/${id}/status`, { status: "paused" });
    expect(paused.body).toMatchObject({ status: "paused" });
    const renamed = await call("PATCH", `/directories/${id}`, { name: "Entra", preset: null });
    expect(renamed.body).toMatchObject({ name: "Entra", preset: null, status: "paused" });
    expect((await call("DELETE", `/directories/${id}`)).body).toEqual({ success: true });
    expect((await call("GET", `/directories/${id}`)).body.code).toBe("directory_not_found");

    const rows = await auditRows(tenant.admin.api, tenant.orgId, id, 7);
    expect(rows.map(({ action }) => action)).toEqual([
      "directory.create",
      "directory.token.rotate",
      "directory.token.rotate",
      "directory.token.revoke",
      "directory.status.update",
      "directory.update",
      "directory.delete",
    ]);
  });

  it("has a default role only of its own scope that its author may grant, and a provider of its own tenant", async () => {
    const { admin, partnerAdmin } = tenant;
    const ofPartner = await roleId(partnerAdmin.api, "partner-admin");
    const wrong = await call("POST", "/directories", { name: "D", defaultRoleId: ofPartner });
    expect([400, 404]).toContain(wrong.status);
    const viewer = await roleId(admin.api, "org-viewer");
    const made = await call("POST", "/directories", { name: "D", defaultRoleId: viewer });
    expect([made.status, made.body.defaultRoleId]).toEqual([201, viewer]);

    const role = { name: "Directory manager", permissions: ["directory:read", "directory:write"] };
    const { body: manager } = await call("POST", "/roles", role);
    const limited = await enrolledAs(cluster, "org-viewer", { orgId: tenant.orgId });
    await call("PATCH", `/users/${limited.id}`, { roleId: manager.id });
    const adminRole = await roleId(admin.api, "org-admin");
    const denied = await limited.api.call("PATCH", `/directories/${made.body.id}`, { defaultRoleId: adminRole });
    expect([denied.status, denied.body.code]).toEqual([403, "delegation_denied"]);

    const root = await operator(cluster);
    const foreign = await root.call("POST", "/sso/providers", {
      name: "P",
      type: "oidc",
      ownerScope: "partner",
      partnerId: tenant.partnerId,
    });
    const named = await call("PATCH", `/directories/${made.body.id}`, { providerId: foreign.body.id });
    expect([named.status, named.body.code]).toEqual([404, "sso_provider_not_found"]);
    const { body: own } = await call("POST", "/sso/providers", { name: "P", type: "oidc" });
    const put = await call("PATCH", `/directories/${made.body.id}`, { providerId: own.id });
    expect(put.body.providerId).toBe(own.id);
    const second = await call("POST", "/directories", { name: "Second", providerId: own.id });
    expect([second.status, second.body.code]).toEqual([409, "name_taken"]);
  });

  it("is managed by neither viewers nor keys, and not without a second factor", async () => {
    const root = await operator(cluster);
    const viewer = await signedInAs(cluster, "org-viewer", { orgId: tenant.orgId });
    expect((await viewer.api.call("GET", "/directories")).body.code).toBe("permission_denied");
    const unenrolled = await signedInAs(cluster, "org-admin", { orgId: tenant.orgId });
    expect((await unenrolled.api.call("POST", "/directories", { name: "D" })).body.code).toBe("mfa_required");
    const { key } = await newKey(root, tenant.orgId, { scopes: ["*"] });
    const byKey = await root.call("GET", "/directories", undefined, { authorization: "", "x-api-key": key });
    expect([byKey.status, byKey.body.code]).toEqual([403, "user_session_required"]);
  });

  it("names each wrong field", async () => {
    const wrong = await call("POST", "/directories", { name: " ", preset: 5, defaultRoleId: "x" });
    expect([wrong.status, fieldsOf(wrong.body).sort()]).toEqual([400, ["defaultRoleId", "name", "preset"]]);
    expect(fieldsOf((await call("POST", "/directories", { name: "D", preset: "unknown" })).body)).toEqual(["preset"]);
  });
});
