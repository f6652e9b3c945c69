import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api, signIn } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { newKey } from "../support/keys.ts";
import { proveMailbox } from "../support/mailbox.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { enrolledAs, fieldsOf, tenantWithAdmins } from "../support/tenant-with-admins.ts";
import { newPartner, operator, roleId, signedInAs, tokenOf } from "../support/users.ts";

let cluster: Cluster;
let root: Api;
let tenant: Awaited<ReturnType<typeof tenantWithAdmins>>;
beforeAll(async () => {
  cluster = await sharedCluster();
  root = await operator(cluster);
  tenant = await tenantWithAdmins(cluster);
}, 180_000);

type Denied = { action: string; result: string; details: Record<string, unknown>; user: { id: string } };
const refusalOf = (row: Denied) => `${row.action} ${row.details.code}`;
const password = "a password for tests only";
const email = () => `r-${randomUUID()}@example.com`;

describe("a role of one's own", () => {
  it("goes from made to given to changed to deleted", async () => {
    const { orgId, partnerId, admin } = tenant;
    const wanted = { name: "Auditor", description: "Reads the trail", permissions: ["audit:read"] };
    const made = await admin.api.call("POST", "/roles", wanted);
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      ...wanted,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      key: null,
      scope: "organization",
      partnerId,
      orgId,
      createdAt: expect.any(String),
      updatedAt: made.body.createdAt,
    });
    const id = String(made.body.id);
    expect((await admin.api.call("GET", `/roles/${id}`)).body).toEqual(made.body);
    const listed = await admin.api.call("GET", `/roles?orgId=${orgId}`);
    expect(listed.body).toMatchObject({
      data: [{ id }],
      pagination: { page: 1, limit: 50, total: 1, nextCursor: null },
    });

    const invited = await admin.api.call("POST", "/users", { email: email(), name: "Ada", roleId: id });
    expect([invited.status, invited.body.role]).toEqual([201, "Auditor"]);
    const byRole = await admin.api.call("GET", `/users?role=${id}`);
    expect((byRole.body.data as { id: string }[]).map((user) => user.id)).toEqual([invited.body.id]);
    const inUse = await admin.api.call("DELETE", `/roles/${id}`);
    expect([inUse.status, inUse.body.code]).toEqual([409, "role_in_use"]);
    const changed = await admin.api.call("PATCH", `/roles/${id}`, { name: "Reader", description: null });
    expect(changed.body).toMatchObject({ name: "Reader", description: "", permissions: ["audit:read"] });
    const alias = await admin.api.call("POST", "/roles", { name: "READER", permissions: [] });
    expect([alias.status, alias.body.code]).toEqual([409, "name_taken"]);
    expect((await admin.api.call("DELETE", `/users/${invited.body.id}`)).body).toEqual({ success: true });
    expect((await admin.api.call("DELETE", `/roles/${id}`)).body).toEqual({ success: true });
    expect((await admin.api.call("GET", `/roles/${id}`)).body.code).toBe("role_not_found");
  });

  it("is never a seeded one, and cannot be created without the permission, a factor or a session", async () => {
    const { admin, orgId } = tenant;
    const body = { name: `R ${randomUUID()}`, permissions: [] };
    const seeded = await roleId(root, "org-viewer");
    for (const [by, method, path, sent, status, code] of [
      [admin.api, "PATCH", `/roles/${seeded}`, { name: "Mine" }, 409, "role_immutable"],
      [admin.api, "DELETE", `/roles/${seeded}`, undefined, 409, "role_immutable"],
      [admin.api, "PATCH", `/roles/${seeded}`, {}, 400, "no_updates"],
      [admin.api, "POST", "/roles", { ...body, permissions: ["partner:policy"] }, 400, "validation_failed"],
      [root, "POST", "/roles", body, 400, "partner_id_required"],
      [root, "POST", "/roles", { ...body, partnerId: randomUUID() }, 404, "partner_not_found"],
      [api(cluster), "POST", "/roles", body, 401, "unauthenticated"],
    ] as const) {
      const reply = await by.call(method, path, sent);
      expect([method, path, reply.status, reply.body.code]).toEqual([method, path, status, code]);
    }
    const viewer = await enrolledAs(cluster, "org-viewer", { orgId });
    const denied = await viewer.api.call("POST", "/roles", body);
    expect([denied.status, denied.body.required]).toEqual([403, "roles:write"]);
    const plain = await signedInAs(cluster, "org-admin", { orgId });
    expect((await plain.api.call("POST", "/roles", body)).body.code).toBe("mfa_required");
    const { key } = await newKey(root, orgId, { scopes: ["*"] });
    const byKey = await fetch(`${cluster.url}/api/v1/roles`, { headers: { "x-api-key": key } });
    expect([byKey.status, ((await byKey.json()) as { code: string }).code]).toEqual([403, "user_session_required"]);
  });

  it("cannot hold what its maker does not", async () => {
    const partnerId = await newPartner(cluster);
    const boss = await enrolledAs(cluster, "partner-admin", { partnerId, orgAccess: "all" });
    const { body } = await boss.api.call("POST", "/roles", {
      name: "People",
      permissions: ["users:read", "users:write", "roles:read", "roles:write"],
    });
    const clerk = await enrolledAs(cluster, "partner-technician", { partnerId });
    expect((await boss.api.call("PATCH", `/users/${clerk.id}`, { roleId: body.id })).status).toBe(200);
    const admin = await roleId(root, "partner-admin");
    for (const [method, path, sent] of [
      ["POST", "/roles", { name: "More", permissions: ["devices:read"] }],
      ["PATCH", `/roles/${body.id}`, { permissions: ["users:read", "audit:read"] }],
      ["PATCH", `/users/${clerk.id}`, { roleId: admin }],
      ["POST", "/users", { email: email(), name: "Eve", roleId: admin }],
      ["POST", `/users/${boss.id}/disable`, undefined],
      ["DELETE", `/users/${boss.id}`, undefined],
    ] as const) {
      const reply = await clerk.api.call(method, path, sent);
      const isRole = path.startsWith("/roles");
      expect([method, path, reply.status, reply.body.code]).toEqual([
        method,
        path,
        403,
        // A partner's roles are made and changed by those who reach all its organizations.
        isRole ? "scope_not_allowed" : "delegation_denied",
      ]);
    }
    const last = await boss.api.call("POST", `/users/${boss.id}/disable`);
    expect([last.status, last.body.code]).toEqual([409, "last_administrator"]);
    expect((await boss.api.call("DELETE", `/users/${boss.id}`)).body.code).toBe("last_administrator");
    expect((await boss.api.call("PATCH", `/users/${boss.id}`, { orgAccess: "none" })).body.code).toBe(
      "last_administrator",
    );
    expect((await boss.api.call("PATCH", `/users/${boss.id}`, { name: "Boss" })).status).toBe(200);
  });
});

describe("a user over HTTP", () => {
  it("is invited again, disabled, enabled and removed", async () => {
    const { admin } = tenant;
    const address = email();
    const roleIdOf = await roleId(root, "org-viewer");
    const invited = await admin.api.call("POST", "/users", { email: address, name: "Ada", roleId: roleIdOf });
    const id = String(invited.body.id);
    const again = await admin.api.call("POST", `/users/${id}/invite`);
    expect([again.status, again.headers.get("cache-control")]).toEqual([200, "private, no-store"]);
    const accept = (url: unknown) =>
      api(cluster).call("POST", "/auth/accept-invite", { token: tokenOf(url), password });
    expect((await accept(invited.body.inviteUrl)).body.code).toBe("invalid_token");
    expect((await accept(again.body.inviteUrl)).status).toBe(200);
    expect((await admin.api.call("POST", `/users/${id}/invite`)).body.code).toBe("invitation_accepted");
    expect((await admin.api.call("POST", `/users/${id}/disable`)).body.status).toBe("disabled");
    expect((await admin.api.call("GET", "/users?status=disabled")).body.data).toMatchObject([{ id }]);
    expect((await admin.api.call("POST", `/users/${id}/invite`)).body.code).toBe("user_disabled");
    expect((await admin.api.call("POST", `/users/${id}/enable`)).body.status).toBe("active");
    const by = async (mfaEnabled: boolean) => {
      const { data } = (await admin.api.call("GET", `/users?mfaEnabled=${mfaEnabled}&limit=100`)).body;
      const users = data as { id: string; mfaEnabled: boolean }[];
      expect(users.every((user) => user.mfaEnabled === mfaEnabled)).toBe(true);
      return users.map((user) => user.id);
    };
    const [without, enrolled] = [await by(false), await by(true)];
    expect([without.includes(id), without.includes(admin.id)]).toEqual([true, false]);
    expect([enrolled.includes(id), enrolled.includes(admin.id)]).toEqual([false, true]);
    expect((await admin.api.call("GET", "/users?mfaEnabled=yes")).body.code).toBe("validation_failed");
    const found = await admin.api.call("GET", `/users?search=${encodeURIComponent(address.slice(0, 20))}`);
    expect(found.body.data).toMatchObject([{ id, email: address }]);
    expect((await admin.api.call("DELETE", `/users/${id}`)).body).toEqual({ success: true });
    expect((await admin.api.call("GET", `/users/${id}`)).status).toBe(404);
  });

  it.each([
    ["name", { name: " " }],
    ["roleId", { roleId: "org-admin" }],
    ["orgAccess", { orgAccess: "some" }],
    ["orgIds.0", { orgIds: ["x"] }],
    ["siteIds", { siteIds: [] }],
    ["siteIds.0", { siteIds: ["x"] }],
  ])("answers 400 to a bad %s", async (field, change) => {
    const { status, body } = await root.call("PATCH", `/users/${tenant.admin.id}`, change);
    expect([status, fieldsOf(body)]).toEqual([400, [field]]);
  });

  it("in another tenant is unknown to an invitation", async () => {
    const [inviter, other] = [await tenantWithAdmins(cluster), await tenantWithAdmins(cluster)];
    const wanted = { name: "Ada", roleId: await roleId(root, "org-viewer") };
    const invite = (address: string) => inviter.admin.api.call("POST", "/users", { ...wanted, email: address });
    const [cold, warm] = [await invite(email()), await invite(other.admin.email)];
    expect([cold.status, warm.status]).toEqual([201, 201]);
    expect(Object.keys(warm.body)).toEqual(Object.keys(cold.body));
    const taken = await other.partnerAdmin.api.call("POST", "/users", {
      ...wanted,
      orgId: other.orgId,
      email: other.admin.email,
    });
    expect([taken.status, taken.body.code]).toEqual([409, "email_taken"]);
    const token = tokenOf(warm.body.inviteUrl);
    const accept = () => api(cluster).call("POST", "/auth/accept-invite", { token, password: "of the second account" });
    await proveMailbox(cluster, other.admin);
    const refused = await accept();
    expect([refused.status, refused.body.code]).toEqual([400, "invalid_token"]);
    const login = await api(cluster).call("POST", "/auth/login", {
      email: other.admin.email,
      password: other.admin.password,
    });
    expect(login.status).toBe(200);
  });

  it("in another tenant, when nobody has proven it, keeps its owner out of no tenant", async () => {
    const [squatter, other] = [await tenantWithAdmins(cluster), await tenantWithAdmins(cluster)];
    const address = email();
    const made = [squatter, other].map(async ({ orgId, admin }, n) => {
      const wanted = { email: address, name: "Ada", roleId: await roleId(root, "org-viewer"), orgId };
      const { body } = await admin.api.call("POST", "/users", wanted);
      const chosen = { token: tokenOf(body.inviteUrl), password: `chosen in place ${n}` };
      expect((await api(cluster).call("POST", "/auth/accept-invite", chosen)).status).toBe(200);
      return String(body.id);
    });
    for (const [n, id] of (await Promise.all(made)).entries()) {
      const login = await api(cluster).call("POST", "/auth/login", {
        email: address,
        password: `chosen in place ${n}`,
      });
      expect([login.status, (login.body.user as { id: string }).id]).toEqual([200, id]);
    }
  });
});

describe("a refused change", () => {
  it("is in the audit trail once a minute, wherever it was refused, with who tried it", async () => {
    const { orgId, admin } = tenant;
    const viewer = await enrolledAs(cluster, "org-viewer", { orgId });
    const target = await signedInAs(cluster, "org-viewer", { orgId });
    const { key, id: keyId } = await newKey(root, orgId, { scopes: ["*"] });
    for (let i = 0; i < 5; i++) {
      expect((await viewer.api.call("POST", `/users/${target.id}/disable`)).status).toBe(403);
      const headers = { "x-api-key": key };
      const byKey = await fetch(`${cluster.url}/api/v1/api-keys/${keyId}/rotate`, { method: "POST", headers });
      expect(byKey.status).toBe(403);
    }
    expect((await viewer.api.call("POST", "/roles", { name: "Mine", permissions: [] })).status).toBe(403);
    const refused = [
      "user.disable permission_denied",
      "api_key.rotate user_session_required",
      "role.create permission_denied",
    ];
    // The rows of refusals arrive in any order, and a refusal has two rows when the minute changed.
    const rows = await until("a row of each refusal", async () => {
      const { body } = await admin.api.call("GET", `/audit-logs/logs?orgId=${orgId}&limit=100`);
      const denied = ((body.data ?? []) as Denied[]).filter(({ result }) => result === "denied");
      const seen = new Set(denied.map(refusalOf));
      return refused.every((refusal) => seen.has(refusal)) ? denied : null;
    });
    const seen = new Set(rows.filter((row) => row.details.code !== "mfa_required").map(refusalOf));
    expect(seen).toEqual(new Set(refused));
    expect(rows.length).toBeLessThanOrEqual(6);
  });

  it("by a user without a second factor is refused with mfa_required", async () => {
    const plain = api(cluster, (await signIn(cluster)).accessToken);
    expect((await plain.call("POST", "/roles", { name: "x", permissions: [] })).body.code).toBe("mfa_required");
  });
});
