import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { api } from "../support/client.ts";
import { startDns, verifiedDomain } from "../support/dns.ts";
import { type Account, type Idp, newAccount, startIdp } from "../support/identity-provider.ts";
import {
  checkOf,
  codeOf,
  linkThrough,
  loginFlow,
  newProvider,
  publicUrl,
  reasonOf,
  signInThrough,
} from "../support/login-flow.ts";
import { ownTenant } from "../support/own-tenant.ts";
import { asDatabaseOwner } from "../support/owner-rows.ts";
import { auditRows, tenantWithAdmins } from "../support/tenant-with-admins.ts";
import { enrollTotp, operator, roleId, signedInAs, tokenOf } from "../support/users.ts";

const { cluster, tenant } = ownTenant();
let idp: Idp;
beforeAll(async () => {
  idp = await startIdp(cluster);
}, 60_000);
afterAll(() => idp?.close());

const login = (email: string, password: string) => api(cluster).call("POST", "/auth/login", { email, password });

describe("enforced single sign-on of an organization, from its beginning", () => {
  it("waits for an administrator's own sign-in, then closes the password door, and leaves a way in", async () => {
    const { orgId, admin } = await tenantWithAdmins(cluster);
    const viewer = await signedInAs(cluster, "org-viewer", { orgId });
    const provider = await newProvider(admin.api, idp, { enforceSSO: true });
    expect(provider.enforcement).toEqual({ inForce: false, reason: "not_proven" });
    expect((await checkOf(cluster, orgId)).enforceSSO).toBe(false);
    expect((await login(viewer.email, viewer.password)).status).toBe(200);

    // A sign-in of a user who could not repair the provider is no proof.
    idp.become(newAccount());
    await signInThrough(cluster, orgId);
    expect((await checkOf(cluster, orgId)).enforceSSO).toBe(false);

    idp.become(newAccount({ email: admin.email }));
    expect(reasonOf(await loginFlow(cluster, orgId))).toBe("link_required");
    expect((await linkThrough(cluster, admin.api, provider.id)).location).toMatch(/ssoLinked=1$/);
    const proven = await signInThrough(cluster, orgId);
    expect(proven.user.id).toBe(admin.id);
    expect(await checkOf(cluster, orgId)).toMatchObject({ ssoEnabled: true, enforceSSO: true });

    const refused = await login(viewer.email, viewer.password);
    const unknown = await login(`nobody-${randomUUID()}@sso.example`, viewer.password);
    expect([refused.status, refused.body.code, refused.body.error]).toEqual([
      401,
      unknown.body.code,
      unknown.body.error,
    ]);
    const change = { currentPassword: viewer.password, newPassword: "another password for tests" };
    const changed = await viewer.api.call("POST", "/auth/change-password", change);
    expect([changed.status, changed.body.code, changed.body.loginUrl]).toEqual([
      403,
      "sso_required",
      `/api/v1/sso/login/${orgId}`,
    ]);
    const refreshed = await api(cluster).call("POST", "/auth/refresh", { refreshToken: viewer.refreshToken });
    expect(refreshed.status).toBe(401);
    const roles = await roleId(proven.api, "org-viewer").catch(() => null);
    expect(roles).not.toBeNull();

    // Enforcement cannot cause a lock-out: no provider governs platform administrators.
    const root = await signedInAs(cluster, "platform-admin");
    await enrollTotp(root);
    const repaired = await root.api.call("PATCH", `/sso/providers/${provider.id}`, { enforceSSO: false });
    expect(repaired.status).toBe(200);
    expect((await login(viewer.email, viewer.password)).status).toBe(200);
  });

  it("ends a sign-in that a password began before it: the second factor opens no session any more", async () => {
    const { orgId, admin } = await tenantWithAdmins(cluster);
    const viewer = await signedInAs(cluster, "org-viewer", { orgId });
    const { recoveryCodes } = await enrollTotp(viewer);
    const halfSignedIn = async () => (await login(viewer.email, viewer.password)).body.mfaToken;
    const [early, verified] = [await halfSignedIn(), await halfSignedIn()];
    const verify = (mfaToken: unknown, code: unknown) =>
      api(cluster).call("POST", "/auth/mfa/verify", { mfaToken, code });
    expect((await verify(verified, recoveryCodes[0])).status).toBe(200);
    const provider = await newProvider(admin.api, idp, { enforceSSO: true });
    idp.become(newAccount({ email: admin.email }));
    await linkThrough(cluster, admin.api, provider.id);
    await signInThrough(cluster, orgId);
    const late = await verify(early, recoveryCodes[1]);
    expect([late.status, late.body.code]).toEqual([401, "invalid_mfa_token"]);
  });

  it("takes an invitation by single sign-on alone", async () => {
    const { orgId, admin } = await tenantWithAdmins(cluster);
    const provider = await newProvider(admin.api, idp, { enforceSSO: true });
    idp.become(newAccount({ email: admin.email }));
    await linkThrough(cluster, admin.api, provider.id);
    const { api: by } = await signInThrough(cluster, orgId);
    const root = await operator(cluster);
    const wanted = {
      email: `${randomUUID()}@sso.example`,
      name: "Invited",
      roleId: await roleId(by, "org-viewer"),
      orgId,
    };
    const invited = await root.call("POST", "/users", wanted);
    const body = { token: tokenOf(invited.body.inviteUrl), password: "a password for tests only" };
    const accepted = await api(cluster).call("POST", "/auth/accept-invite", body);
    expect([accepted.status, accepted.body.code, accepted.body.loginUrl]).toEqual([
      403,
      "sso_required",
      `/api/v1/sso/login/${orgId}`,
    ]);
    idp.become(newAccount({ email: wanted.email }));
    expect((await signInThrough(cluster, orgId)).user.id).toBe(invited.body.id);
  });
});

describe("a verified domain", () => {
  it("replaces a provider's missing email_verified, in its own place alone", async () => {
    const [{ orgId, admin }, other] = [await tenantWithAdmins(cluster), await tenantWithAdmins(cluster)];
    for (const by of [admin.api, other.admin.api]) await newProvider(by, idp);
    const domain = `${randomUUID()}.example`;
    const silent = () => {
      const { email_verified: _, ...who } = newAccount({ email: `${randomUUID().slice(0, 8)}@${domain}` });
      return who as Account;
    };
    idp.become(silent());
    expect(reasonOf(await loginFlow(cluster, orgId))).toBe("domain_not_verified");
    await verifiedDomain(cluster, admin.api, domain);
    codeOf(await loginFlow(cluster, orgId));
    idp.become(silent());
    expect(reasonOf(await loginFlow(cluster, other.orgId))).toBe("domain_not_allowed");
    const viewer = await signedInAs(cluster, "org-viewer", { orgId });
    await asDatabaseOwner(cluster, "UPDATE identity.users SET email = $2 WHERE id = $1", [
      viewer.id,
      `known@${domain}`,
    ]);
    idp.become({ ...silent(), email: `known@${domain}` });
    expect((await signInThrough(cluster, orgId)).user.id).toBe(viewer.id);
  }, 120_000);

  it("takes its addresses back from accounts that cannot prove them, tells both tenants, and gives others none", async () => {
    const [squatter, owner] = [await tenantWithAdmins(cluster), await tenantWithAdmins(cluster)];
    const domain = `${randomUUID()}.example`;
    const address = `ada@${domain}`;
    const wanted = { email: address, name: "Ada", roleId: await roleId(squatter.admin.api, "org-viewer") };
    const made = await squatter.admin.api.call("POST", "/users", wanted);
    const chosen = { token: tokenOf(made.body.inviteUrl), password: "a password for tests only" };
    expect((await api(cluster).call("POST", "/auth/accept-invite", chosen)).status).toBe(200);
    await verifiedDomain(cluster, owner.admin.api, domain);
    const yielded = await squatter.admin.api.call("GET", `/users/${made.body.id}`);
    expect(yielded.body).toMatchObject({ emailProven: false, email: expect.stringMatching(/\.invalid$/) });
    const [, row] = (await auditRows(squatter.admin.api, squatter.orgId, String(made.body.id), 3)).slice(-2);
    expect([row?.action, row?.details.reason]).toEqual(["user.email.yield", "proven_by_its_owner"]);
    for (const name of ["ada", "nobody"]) {
      const refused = await squatter.admin.api.call("POST", "/users", { ...wanted, email: `${name}@${domain}` });
      expect([refused.status, refused.body.code, refused.body.error]).toEqual([
        403,
        "domain_not_allowed",
        "This e-mail address cannot be used here",
      ]);
    }
    await newProvider(owner.admin.api, idp);
    idp.become(newAccount({ email: address }));
    const { user } = await signInThrough(cluster, owner.orgId);
    expect((await owner.admin.api.call("GET", `/users/${user.id}`)).body).toMatchObject({ emailProven: true });
  }, 120_000);

  it("leads its addresses to the provider of its place, and reveals no user's account", async () => {
    const { orgId, partnerId, admin, partnerAdmin } = await tenantWithAdmins(cluster);
    const find = async (email: string) => (await api(cluster).call("POST", "/sso/find", { email })).body;
    const nothing = { providerName: null, enforceSSO: false, loginUrl: null };
    const [domain, staff] = [`${randomUUID()}.example`, `${randomUUID()}.example`];
    const provider = await newProvider(admin.api, idp, { name: "Acme ID", status: "testing" });
    await verifiedDomain(cluster, admin.api, domain);
    expect(await find(`ada@${domain}`)).toEqual(nothing);
    expect((await admin.api.call("POST", `/sso/providers/${provider.id}/status`, { status: "active" })).status).toBe(
      200,
    );
    const found = {
      providerName: "Acme ID",
      enforceSSO: false,
      loginUrl: `${publicUrl(cluster)}/api/v1/sso/login/${orgId}`,
    };
    // A letter's case and an account that is there make no difference; a domain below is another one.
    for (const email of [`ada@${domain}`, `NOBODY@${domain.toUpperCase()}`]) expect(await find(email)).toEqual(found);
    for (const email of [`ada@mail.${domain}`, admin.email, "ada", "@", "ada@", `a@b@${staff}`]) {
      expect(await find(email)).toEqual(nothing);
    }
    await newProvider(partnerAdmin.api, idp, { name: "Staff ID", ownerScope: "partner", defaultRoleId: undefined });
    await verifiedDomain(cluster, partnerAdmin.api, staff, { ownerScope: "partner" });
    expect(await find(`bob@${staff}`)).toEqual({
      providerName: "Staff ID",
      enforceSSO: false,
      loginUrl: `${publicUrl(cluster)}/api/v1/sso/login/partner/${partnerId}`,
    });
    expect((await admin.api.call("DELETE", `/sso/providers/${provider.id}`)).status).toBe(200);
    expect(await find(`ada@${domain}`)).toEqual(nothing);
  }, 120_000);

  it("belongs to one place, whichever others claim it, and reports what is missing", async () => {
    const other = await tenantWithAdmins(cluster);
    const domain = `${randomUUID()}.example`;
    const claims = await Promise.all(
      [tenant.admin.api, other.admin.api].map((by) => by.call("POST", "/sso/domains", { domain })),
    );
    expect(claims.map(({ status }) => status)).toEqual([201, 201]);
    const [mine, theirs] = claims.map(({ body }) => body);
    expect(mine?.recordName).toBe(`_service-verify.${domain}`);
    const records = new Map([[String(mine?.recordName), String(mine?.recordValue)]]);
    const dns = await startDns(cluster, records);
    try {
      const wrong = await other.admin.api.call("POST", `/sso/domains/${theirs?.id}/verify`);
      expect([wrong.body.verifiedAt, wrong.body.lastError]).toEqual([null, "The TXT record has another value"]);
      const verified = await tenant.admin.api.call("POST", `/sso/domains/${mine?.id}/verify`);
      expect(verified.body).toMatchObject({ lastError: null, verifiedAt: expect.any(String) });
      records.set(String(theirs?.recordName), String(theirs?.recordValue));
      const taken = await other.admin.api.call("POST", `/sso/domains/${theirs?.id}/verify`);
      expect([taken.status, taken.body.code]).toEqual([409, "domain_taken"]);
      records.clear();
      const lost = await tenant.admin.api.call("POST", `/sso/domains/${mine?.id}/verify`);
      expect(lost.body).toMatchObject({ lastError: "There is no such TXT record", verifiedAt: expect.any(String) });
    } finally {
      await dns.close();
    }
  });
});
