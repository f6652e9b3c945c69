import { describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type Api, api } from "../support/client.ts";
import { auditedActions } from "../support/enroller.ts";
import { newKey } from "../support/keys.ts";
import { ownTenant } from "../support/own-tenant.ts";
import { enrolledAs, tenantWithAdmins } from "../support/tenant-with-admins.ts";
import { enrollTotp, newOrganization, operator, signedInAs, signInAgain } from "../support/users.ts";

const { cluster } = ownTenant();

const ofPartner = "/orgs/partners/me/sign-in-policy";
const ofOrganization = (orgId: string) => `/orgs/organizations/${orgId}/sign-in-policy`;
const require = async (by: Api, path: string, requireSecondFactor: boolean) => {
  const { status, body } = await by.call("PUT", path, { requireSecondFactor });
  expect(status).toBe(200);
  return body;
};
const outcome = async (by: Api, method: string, path: string, body?: object) => {
  const reply = await by.call(method, path, body);
  return reply.body.code ?? reply.status;
};
const isHeld = async (by: Api) => (await by.call("GET", "/auth/me")).body.secondFactorRequired;

describe("a second factor that an organization requires", () => {
  it("holds a session without one to enrolling it, from the reply on, and then opens everything", async () => {
    const { orgId, admin } = await tenantWithAdmins(cluster);
    const user = await signedInAs(cluster, "org-admin", { orgId });
    expect(await outcome(user.api, "GET", "/devices")).toBe(200);
    const required = await require(admin.api, ofOrganization(orgId), true);
    expect(required).toEqual({ requireSecondFactor: true, effective: { requireSecondFactor: true } });
    const refused = await user.api.call("GET", "/devices");
    expect([refused.status, refused.body.code, refused.body.enrollUrl]).toEqual([
      403,
      "mfa_required",
      expect.stringContaining("/profile"),
    ]);
    expect(await outcome(user.api, "PATCH", "/auth/me", { name: "Another" })).toBe("mfa_required");
    expect(await outcome(user.api, "GET", "/auth/mfa")).toBe(200);
    const again = await signInAgain(cluster, user);
    expect(await isHeld(again.api)).toBe(true);
    expect(await outcome(again.api, "GET", "/devices")).toBe("mfa_required");
    expect(await outcome(again.api, "POST", "/auth/logout")).toBe(200);

    const { recoveryCodes } = await enrollTotp(user);
    expect([await isHeld(user.api), await outcome(user.api, "GET", "/devices")]).toEqual([false, 200]);
    const code = recoveryCodes[0];
    expect(await outcome(user.api, "POST", "/auth/mfa/totp/disable", { password: user.password, code })).toBe(200);
    expect(await outcome(user.api, "GET", "/devices")).toBe("mfa_required");
    expect(await outcome(admin.api, "GET", "/devices")).toBe(200);
  });

  it("concerns neither its API keys nor other tenants, ends when it is no longer required, and is audited", async () => {
    const { orgId, partnerId, admin, partnerAdmin } = await tenantWithAdmins(cluster);
    const [user, neighbour, technician] = await Promise.all([
      signedInAs(cluster, "org-viewer", { orgId }),
      signedInAs(cluster, "org-viewer", { orgId: await newOrganization(cluster, partnerId) }),
      signedInAs(cluster, "partner-technician", { partnerId, orgAccess: "all" }),
    ]);
    const { key } = await newKey(admin.api, orgId, { scopes: ["devices:read"] });
    const program: Api = {
      call: (method, path) => api(cluster).call(method, path, undefined, { "x-api-key": key }),
    };
    await require(admin.api, ofOrganization(orgId), true);
    const seen = [user.api, program, neighbour.api, technician.api].map((by) => outcome(by, "GET", "/devices"));
    expect(await Promise.all(seen)).toEqual(["mfa_required", 200, 200, 200]);
    await require(partnerAdmin.api, ofOrganization(orgId), false);
    expect(await outcome(user.api, "GET", "/devices")).toBe(200);
    const root = await operator(cluster);
    await until("both audit rows", async () => {
      const actions = await auditedActions(root, "user.sign_in_policy", orgId);
      return actions.filter((action) => action === "user.sign_in_policy.update").length === 2;
    });
  });
});

describe("a second factor that a partner requires", () => {
  it("is required of its users and of those of its organizations, which cannot lift it", async () => {
    const { orgId, partnerId, admin, partnerAdmin } = await tenantWithAdmins(cluster);
    const users = await Promise.all([
      signedInAs(cluster, "org-viewer", { orgId }),
      signedInAs(cluster, "partner-technician", { partnerId, orgAccess: "all" }),
    ]);
    await require(partnerAdmin.api, ofPartner, true);
    for (const { api: by } of users) expect(await outcome(by, "GET", "/devices")).toBe("mfa_required");
    const lifted = await require(admin.api, ofOrganization(orgId), false);
    expect(lifted).toEqual({ requireSecondFactor: false, effective: { requireSecondFactor: true } });
    expect((await admin.api.call("GET", ofOrganization(orgId))).body).toEqual(lifted);
    expect(await outcome(users[0].api, "GET", "/devices")).toBe("mfa_required");
    await require(partnerAdmin.api, ofPartner, false);
    for (const { api: by } of users) expect(await outcome(by, "GET", "/devices")).toBe(200);
  });

  it("is changed by its administrators of all organizations alone, with a second factor", async () => {
    const { orgId, partnerId, admin } = await tenantWithAdmins(cluster);
    const limited = await enrolledAs(cluster, "partner-admin", { partnerId, orgAccess: "selected", orgIds: [orgId] });
    const technician = await enrolledAs(cluster, "partner-technician", { partnerId, orgAccess: "all" });
    const without = await signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "all" });
    const change = { requireSecondFactor: true };
    const tried = [limited, technician, without, admin].map((by) => outcome(by.api, "PUT", ofPartner, change));
    expect(await Promise.all(tried)).toEqual([
      "scope_not_allowed",
      "permission_denied",
      "mfa_required",
      "permission_denied",
    ]);
    expect((await limited.api.call("GET", ofPartner)).body.requireSecondFactor).toBe(false);
  });
});
