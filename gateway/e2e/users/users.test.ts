import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api, signIn } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { enrolledAs } from "../support/tenant-with-admins.ts";
import {
  enrollTotp,
  newOrganization,
  newPartner,
  newSite,
  operator,
  roleId,
  signedInAs,
  tokenOf,
} from "../support/users.ts";

let cluster: Cluster;
let root: Api;
beforeAll(async () => {
  cluster = await sharedCluster();
  root = await operator(cluster);
}, 180_000);

const email = () => `u-${randomUUID()}@example.com`;
const password = "a password for tests only";

describe("one's own name", () => {
  it("is changed by its user, and shown in every session and list at once", async () => {
    const user = await signedInAs(cluster, "platform-admin");
    const { status, body } = await user.api.call("PATCH", "/auth/me", { name: " Ada King ", role: "platform-admin" });
    expect([status, body.name, body.email]).toEqual([200, "Ada King", user.email]);
    expect((await user.api.call("GET", "/auth/me")).body).toEqual(body);
    expect((await root.call("GET", `/users/${user.id}`)).body.name).toBe("Ada King");
    const refusals = [
      { wanted: {}, code: "no_updates" },
      { wanted: { name: "" }, code: "validation_failed" },
      { wanted: { name: "Ada\r\nKing" }, code: "validation_failed" },
    ];
    for (const { wanted, code } of refusals) {
      const refused = await user.api.call("PATCH", "/auth/me", wanted);
      expect([refused.status, refused.body.code]).toEqual([400, code]);
    }
  });
});

describe("inviting a user", () => {
  it("answers 201 with the user and a link that lets them in once", async () => {
    const partnerId = await newPartner(cluster);
    const orgId = await newOrganization(cluster, partnerId);
    const wanted = { email: email(), name: "Ada", partnerId, orgAccess: "selected", orgIds: [orgId] };
    const { status, body, headers } = await root.call("POST", "/users", {
      ...wanted,
      roleId: await roleId(root, "partner-technician"),
    });
    expect(status).toBe(201);
    expect(headers.get("cache-control")).toBe("private, no-store");
    const { inviteUrl, ...user } = body;
    expect(user).toEqual({
      ...wanted,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      department: null,
      scope: "partner",
      orgId: null,
      roleId: expect.any(String),
      role: "partner-technician",
      siteIds: null,
      status: "invited",
      emailProven: false,
      managedBy: null,
      mfaEnabled: false,
      lastLoginAt: null,
      createdAt: expect.any(String),
      updatedAt: body.createdAt,
    });
    expect(inviteUrl).toMatch(/^https?:\/\/[^/]+\/accept-invite#token=inv_[\w-]{43}$/);
    expect((await root.call("GET", `/users/${user.id}`)).body).toEqual(user);

    const accept = () => api(cluster).call("POST", "/auth/accept-invite", { token: tokenOf(inviteUrl), password });
    expect((await accept()).body).toEqual({ success: true });
    const again = await accept();
    expect([again.status, again.body.code]).toEqual([400, "invalid_token"]);
    const login = await api(cluster).call("POST", "/auth/login", { email: wanted.email, password });
    const me = await api(cluster, String(login.body.accessToken)).call("GET", "/auth/me");
    expect(me.body).toMatchObject({ scope: "partner", partnerId, orgAccess: "selected", orgIds: [orgId] });
  });

  it("is described to who holds its token, until it is accepted: inviter, address, organization and partner", async () => {
    const partnerId = await newPartner(cluster, { name: "Northwind IT" });
    const orgId = await newOrganization(cluster, partnerId, { name: "Acme" });
    const admin = await enrolledAs(cluster, "org-admin", { orgId });
    const described = (token: string) => api(cluster).call("POST", "/auth/invitation", { token });
    const invited = async (by: Api, wanted: object) => {
      const { body } = await by.call("POST", "/users", { email: email(), name: "Ada", ...wanted });
      return { token: tokenOf(body.inviteUrl), address: body.email };
    };
    const viewer = await invited(admin.api, { orgId, roleId: await roleId(admin.api, "org-viewer") });
    const ofOrganization = await described(viewer.token);
    expect([ofOrganization.status, ofOrganization.body]).toEqual([
      200,
      {
        email: viewer.address,
        name: "Ada",
        invitedBy: "Test org-admin",
        partner: "Northwind IT",
        organization: "Acme",
        expiresAt: expect.any(String),
      },
    ]);
    expect(ofOrganization.headers.get("cache-control")).toContain("no-store");
    const technician = await invited(root, { partnerId, roleId: await roleId(root, "partner-technician") });
    expect((await described(technician.token)).body).toMatchObject({ partner: "Northwind IT", organization: null });
    const colleague = await invited(root, { roleId: await roleId(root, "platform-admin") });
    expect((await described(colleague.token)).body).toMatchObject({ partner: null, organization: null });

    await api(cluster).call("POST", "/auth/accept-invite", { token: viewer.token, password });
    const [used, unknown] = [await described(viewer.token), await described("inv_nothing")];
    const { requestId: _used, ...refusal } = used.body;
    expect([used.status, refusal]).toEqual([400, expect.objectContaining({ code: "invalid_token" })]);
    expect([unknown.status, unknown.body]).toMatchObject([400, refusal]);
  });

  it("leaves one sealed audit row for the invitation and one for its acceptance", async () => {
    const partnerId = await newPartner(cluster);
    const user = await signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "all" });
    const actions = await until("the rows", async () => {
      const { body } = await root.call("GET", `/audit-logs/logs?action=user.&resourceId=${user.id}`);
      const rows = (body.data ?? []) as { action: string; resource: { id: string }; details: object }[];
      const mine = rows.filter((row) => row.resource.id === user.id);
      expect(JSON.stringify(mine)).not.toMatch(/inv_|scrypt/);
      return mine.length >= 3 ? mine.map((row) => row.action).sort() : null;
    });
    expect(actions).toEqual(["user.create", "user.invite.accept", "user.login"]);
  });

  it("needs a second factor, the permission and a session", async () => {
    const wanted = { email: email(), name: "Ada", roleId: await roleId(root, "platform-admin") };
    const plain = api(cluster, (await signIn(cluster)).accessToken);
    const refused = await plain.call("POST", "/users", wanted);
    expect([refused.status, refused.body.code]).toEqual([403, "mfa_required"]);
    expect(refused.body.enrollUrl).toMatch(/\/profile$/);
    const partnerId = await newPartner(cluster);
    const technician = await signedInAs(cluster, "partner-technician", { partnerId });
    const denied = await technician.api.call("POST", "/users", wanted);
    expect([denied.status, denied.body.code, denied.body.required]).toEqual([403, "permission_denied", "users:write"]);
    expect((await api(cluster).call("POST", "/users", wanted)).status).toBe(401);
  });

  it("keeps partner and organization administrators within their own place", async () => {
    const partnerId = await newPartner(cluster);
    const [mine, sibling] = [await newOrganization(cluster, partnerId), await newOrganization(cluster, partnerId)];
    const partner = await signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "selected", orgIds: [mine] });
    const organization = await signedInAs(cluster, "org-admin", { orgId: mine });
    for (const user of [partner, organization]) await enrollTotp(user);
    const roles = { viewer: await roleId(root, "org-viewer"), admin: await roleId(root, "partner-admin") };
    const tries: [Api, object, number, string | undefined][] = [
      [partner.api, { orgId: mine, roleId: roles.viewer }, 201, undefined],
      [partner.api, { orgId: sibling, roleId: roles.viewer }, 404, "organization_not_found"],
      [partner.api, { roleId: roles.admin, orgAccess: "all" }, 403, "delegation_denied"],
      [partner.api, { partnerId: await newPartner(cluster), roleId: roles.admin }, 404, "partner_not_found"],
      [organization.api, { roleId: roles.viewer }, 201, undefined],
      [organization.api, { orgId: sibling, roleId: roles.viewer }, 404, "organization_not_found"],
      [organization.api, { roleId: roles.admin }, 404, "role_not_found"],
    ];
    for (const [by, change, status, code] of tries) {
      const reply = await by.call("POST", "/users", { email: email(), name: "Ada", ...change });
      expect([change, reply.status, reply.body.code]).toEqual([change, status, code]);
    }
    const seen = async (by: Api) =>
      ((await by.call("GET", "/users?limit=100")).body.data as { orgId: string }[]).map((u) => u.orgId);
    expect(new Set(await seen(organization.api))).toEqual(new Set([mine]));
    expect(new Set(await seen(partner.api))).toEqual(new Set([null, mine]));
  });

  it("limits a user to sites", async () => {
    const partnerId = await newPartner(cluster);
    const orgId = await newOrganization(cluster, partnerId);
    const siteId = await newSite(cluster, orgId);
    const user = await signedInAs(cluster, "org-admin", { orgId, siteIds: [siteId] });
    await enrollTotp(user);
    const refused = await user.api.call("POST", "/users", {
      email: email(),
      name: "Ada",
      roleId: await roleId(root, "org-viewer"),
    });
    expect([refused.status, refused.body.code]).toEqual([403, "site_restricted"]);
    expect((await root.call("GET", `/users/${user.id}`)).body).toMatchObject({ orgId, siteIds: [siteId] });
  });

  it.each([
    ["no e-mail", "email", { email: "nobody" }],
    ["a long e-mail", "email", { email: `${"x".repeat(250)}@example.com` }],
    ["an empty name", "name", { name: "" }],
    ["a long name", "name", { name: "x".repeat(256) }],
    ["NUL", "name", { name: "a\u0000" }],
    ["a lone surrogate", "name", { name: "\ud800" }],
    ["a role's key for its id", "roleId", { roleId: "org-admin" }],
    ["no role", "roleId", { roleId: null }],
    ["a number for a partner", "partnerId", { partnerId: 7 }],
    ["no UUID for an organization", "orgId", { orgId: "x" }],
    ["an unknown access", "orgAccess", { orgAccess: "some" }],
    ["text for a list", "orgIds", { orgIds: "all" }],
    ["501 organizations", "orgIds", { orgIds: Array.from({ length: 501 }, () => randomUUID()) }],
    ["no UUID for a site", "siteIds.0", { siteIds: ["x"] }],
  ])("answers 400 to %s, naming %s, and writes nothing", async (_name, field, change) => {
    const wanted = { email: email(), name: "Ada", roleId: await roleId(root, "platform-admin") };
    const { status, body } = await root.call("POST", "/users", { ...wanted, ...change });
    expect([status, body.code]).toEqual([400, "validation_failed"]);
    expect(Object.keys((body.details as { fieldErrors: object }).fieldErrors)).toEqual([field]);
    const { body: all } = await root.call("GET", "/users?limit=100");
    expect((all.data as { email: string }[]).some((user) => user.email === wanted.email)).toBe(false);
  });

  it.each([
    ["short", { password: "x".repeat(11) }, "validation_failed"],
    ["absent", { password: undefined }, "validation_failed"],
    ["fine, with a token that is none", { token: "inv_none" }, "invalid_token"],
  ])("refuses to accept when the password is %s", async (_name, change, code) => {
    const reply = await api(cluster).call("POST", "/auth/accept-invite", { token: "inv_x", password, ...change });
    expect([reply.status, reply.body.code]).toEqual([400, code]);
  });
});

describe("reading people", () => {
  it.each([
    ["limit=0", 1],
    ["limit=1000", 100],
    ["limit=abc", 50],
    ["page=-1&limit=7", 7],
  ])("clamps %s", async (query, limit) => {
    const { status, body } = await root.call("GET", `/users?${query}`);
    expect(status).toBe(200);
    expect(body.pagination).toMatchObject({ page: 1, limit });
  });

  it.each([
    [randomUUID(), 404, "user_not_found"],
    ["nonsense", 400, "validation_failed"],
  ])("answers the id %s with %d %s", async (id, status, code) => {
    const reply = await root.call("GET", `/users/${id}`);
    expect([reply.status, reply.body.code]).toEqual([status, code]);
  });
});

describe("roles and permissions", () => {
  it("are those of the catalogue, a role's within its scope", async () => {
    const { body } = await root.call("GET", "/permissions");
    const catalogue = body.data as { permission: string; description: string; keyScopes: string[] }[];
    expect(catalogue.find(({ permission }) => permission === "devices:delete")).toEqual({
      permission: "devices:delete",
      description: expect.stringMatching(/^[A-Z].*\.$/),
      keyScopes: ["devices:write"],
    });
    const partnerId = await newPartner(cluster);
    const technician = await signedInAs(cluster, "partner-technician", { partnerId });
    const roles = (await technician.api.call("GET", "/roles")).body.data as { key: string; permissions: string[] }[];
    expect(roles.map((role) => role.key)).toEqual(["org-admin", "org-viewer", "partner-admin", "partner-technician"]);
    const permissions = catalogue.map(({ permission }) => permission);
    for (const role of roles) for (const permission of role.permissions) expect(permissions).toContain(permission);
  });
});

describe("a partner that is suspended", () => {
  it("locks its people out, leaves /auth/me and logout, and lets them in again", async () => {
    const partnerId = await newPartner(cluster);
    const orgId = await newOrganization(cluster, partnerId);
    const user = await signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "all" });
    const customer = await signedInAs(cluster, "org-admin", { orgId });
    const probe = async (by: Api) => (await by.call("GET", "/users?limit=1")).body.code ?? "served";
    const both = async () => [await probe(user.api), await probe(customer.api)];
    expect(await both()).toEqual(["served", "served"]);

    const set = (status: string) => root.call("PATCH", `/orgs/partners/${partnerId}`, { status });
    expect((await set("suspended")).status).toBe(200);
    await until("the lock", async () => (await both()).every((code) => code === "partner_inactive"), 10_000);
    const refused = await user.api.call("GET", "/users");
    expect([refused.status, refused.body.status]).toEqual([403, "suspended"]);
    expect((await user.api.call("GET", "/auth/me")).status).toBe(200);
    const fresh = await api(cluster).call("POST", "/auth/login", { email: user.email, password: user.password });
    const again = api(cluster, String(fresh.body.accessToken));
    expect(await probe(again)).toBe("partner_inactive");
    expect((await again.call("POST", "/auth/logout")).status).toBe(200);
    expect((await root.call("GET", "/users?limit=1")).status).toBe(200);

    expect((await set("active")).status).toBe(200);
    await until("the way in", async () => (await both()).every((code) => code === "served"), 10_000);
  });
});

describe("an organization", () => {
  it.each([
    ["suspended", "organization_inactive"],
    ["churned", "organization_inactive"],
    ["trial", "served"],
  ])("when %s answers its users %s; its partner's users go on", async (status, code) => {
    const partnerId = await newPartner(cluster);
    const orgId = await newOrganization(cluster, partnerId);
    const customer = await signedInAs(cluster, "org-admin", { orgId });
    const partner = await signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "all" });
    const probe = async (by: Api) => (await by.call("GET", "/users?limit=1")).body.code ?? "served";
    expect(await probe(customer.api)).toBe("served");
    expect((await root.call("PATCH", `/orgs/organizations/${orgId}`, { status })).status).toBe(200);
    await until("the change", async () => (await probe(customer.api)) === code, 10_000);
    expect(await probe(partner.api)).toBe("served");
    expect((await root.call("DELETE", `/orgs/organizations/${orgId}`)).status).toBe(200);
    await until("the deletion", async () => (await probe(customer.api)) === "session_revoked", 10_000);
  });
});
