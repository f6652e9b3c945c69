import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { api } from "../support/client.ts";
import { type Idp, newAccount, startIdp } from "../support/identity-provider.ts";
import {
  checkOf,
  codeOf,
  lastAttempt,
  linkThrough,
  loginFlow,
  newProvider,
  reasonOf,
  setStatus,
  signInThrough,
} from "../support/login-flow.ts";
import { resetMailsTo, resetTokenOf } from "../support/mailbox.ts";
import { ownTenant } from "../support/own-tenant.ts";
import { auditRows, enrolledAs, tenantWithAdmins } from "../support/tenant-with-admins.ts";
import { signedInAs, signInAgain } from "../support/users.ts";
import { newVisitor } from "../support/visitor.ts";

const { cluster, tenant } = ownTenant();
let idp: Idp;
beforeAll(async () => {
  idp = await startIdp(cluster);
}, 60_000);
afterAll(() => idp?.close());

const login = (email: string, password: string) => api(cluster).call("POST", "/auth/login", { email, password });

describe("enforced single sign-on of an organization", () => {
  it("mails no link for a new password, and an old link changes nothing", async () => {
    const { orgId, admin } = await tenantWithAdmins(cluster);
    const viewer = await signedInAs(cluster, "org-viewer", { orgId });
    const outsider = await signedInAs(cluster, "org-viewer", { orgId: tenant.orgId });
    const forgot = (email: string) => api(cluster).call("POST", "/auth/forgot-password", { email });
    await forgot(viewer.email);
    const token = await resetLinkOf(viewer.email);
    const provider = await newProvider(admin.api, idp, { enforceSSO: true });
    idp.become(newAccount({ email: admin.email }));
    await linkThrough(cluster, admin.api, provider.id);
    await signInThrough(cluster, orgId);
    const answers = await Promise.all([forgot(viewer.email), forgot(outsider.email)]);
    expect(answers[0].body).toEqual(answers[1].body);
    await resetLinkOf(outsider.email);
    expect(await resetMailsTo(cluster, viewer.email)).toBe(1);
    const reset = await api(cluster).call("POST", "/auth/reset-password", { token, password: "set by an old link" });
    expect([reset.status, reset.body]).toEqual([200, { success: true }]);
    await admin.api.call("PATCH", `/sso/providers/${provider.id}`, { enforceSSO: false });
    await signedOutOfForce(orgId);
    expect((await login(viewer.email, "set by an old link")).status).toBe(401);
    expect((await login(viewer.email, viewer.password)).status).toBe(200);
  });
});

describe("links of one's own account", () => {
  it("are offered, made, refused for other addresses and identities, and removed unless they are the last way in", async () => {
    const { orgId, admin } = await tenantWithAdmins(cluster);
    const provider = await newProvider(admin.api, idp);
    const linked = newAccount({ email: admin.email });
    idp.become(linked);
    const options = async () => (await admin.api.call("GET", "/sso/link/options")).body.data;
    expect(await options()).toEqual([{ id: provider.id, name: provider.name, type: "oidc", linked: false }]);
    expect((await linkThrough(cluster, admin.api, provider.id)).location).toMatch(/\/profile\?ssoLinked=1$/);
    expect(await options()).toEqual([{ id: provider.id, name: provider.name, type: "oidc", linked: true }]);
    expect((await signInThrough(cluster, orgId)).user.id).toBe(admin.id);

    idp.become(newAccount());
    expect((await linkThrough(cluster, admin.api, provider.id)).location).toMatch(
      /ssoLinkError=email_mismatch&attempt=/,
    );
    const second = await enrolledAs(cluster, "org-admin", { orgId });
    idp.become(newAccount({ email: second.email, sub: linked.sub }));
    expect((await linkThrough(cluster, second.api, provider.id)).location).toMatch(
      /ssoLinkError=identity_in_use&attempt=/,
    );

    idp.become(newAccount());
    const guest = await signInThrough(cluster, orgId);
    const kept = await guest.api.call("DELETE", `/sso/link/${provider.id}`);
    expect([kept.status, kept.body.code]).toEqual([409, "last_sign_in_method"]);
    expect((await admin.api.call("DELETE", `/sso/link/${provider.id}`)).status).toBe(200);
    expect((await admin.api.call("DELETE", `/sso/link/${provider.id}`)).body.code).toBe("sso_provider_not_found");
    idp.become(linked);
    expect(reasonOf(await loginFlow(cluster, orgId))).toBe("link_required");
  });

  it("hold at one issuer: after a change of the issuer an equal `sub` is another person, and users are matched by address", async () => {
    const { orgId, admin } = await tenantWithAdmins(cluster);
    const provider = await newProvider(admin.api, idp);
    const account = newAccount();
    idp.become(account);
    const first = await signInThrough(cluster, orgId);
    const next = await startIdp(cluster);
    try {
      const change = { issuer: next.issuer, clientId: next.clientId(), clientSecret: next.secret };
      expect((await admin.api.call("PATCH", `/sso/providers/${provider.id}`, change)).status).toBe(200);
      next.become(newAccount({ sub: account.sub }));
      expect((await signInThrough(cluster, orgId)).user.id).not.toBe(first.user.id);
      next.become({ ...account, sub: "another" });
      expect((await signInThrough(cluster, orgId)).user.id).toBe(first.user.id);
    } finally {
      await next.close();
    }
    const rows = await auditRows(admin.api, orgId, provider.id, 3);
    expect(rows.at(-1)?.details).toMatchObject({ linksRemoved: 1 });
  });

  it("end when the account or its session ended meanwhile", async () => {
    const { orgId, admin } = await tenantWithAdmins(cluster);
    const provider = await newProvider(admin.api, idp);
    const leaving = await enrolledAs(cluster, "org-admin", { orgId });
    idp.become(newAccount({ email: leaving.email }));
    const start = await leaving.api.call("POST", `/sso/link/start/${provider.id}`);
    expect(start.status).toBe(200);
    const again = await signInAgain(cluster, leaving);
    expect((await leaving.api.call("POST", "/auth/logout")).status).toBe(200);
    expect(again.accessToken).toBeTruthy();
    const visitor = newVisitor();
    visitor.keep(`localhost:${new URL(cluster.url).port}`, start.headers.getSetCookie());
    const end = await visitor.follow(String(start.body.authUrl));
    expect(end.location).toMatch(/ssoLinkError=user_gone&attempt=/);
  });
});

describe("a partner's provider", () => {
  it("signs in its own users, creates no account, and belongs to no organization", async () => {
    const { partnerId, orgId, partnerAdmin } = await tenantWithAdmins(cluster);
    const by = partnerAdmin.api;
    const provider = await newProvider(by, idp, { ownerScope: "partner", defaultRoleId: undefined });
    expect([provider.partnerId, provider.orgId]).toEqual([partnerId, null]);
    idp.become(newAccount());
    expect(reasonOf(await loginFlow(cluster, `partner/${partnerId}`))).toBe("invite_required");
    expect(await lastAttempt(by, provider.id)).toMatchObject({ step: "person", reason: "invite_required" });
    expect((await checkOf(cluster, orgId)).ssoEnabled).toBe(false);
    idp.become(newAccount({ email: partnerAdmin.email }));
    expect((await linkThrough(cluster, by, provider.id)).location).toMatch(/ssoLinked=1$/);
    expect((await signInThrough(cluster, `partner/${partnerId}`)).user.id).toBe(partnerAdmin.id);
    const listed = await by.call("GET", "/sso/providers?scope=partner");
    expect((listed.body.data as { id: string }[]).map(({ id }) => id)).toEqual([provider.id]);
  });

  it("among several is the oldest active one", async () => {
    const { partnerId, partnerAdmin } = await tenantWithAdmins(cluster);
    const by = partnerAdmin.api;
    const [first, second] = [0, 1].map((client) => ({ ownerScope: "partner", defaultRoleId: undefined, client }));
    const oldest = await newProvider(by, idp, first);
    await newProvider(by, idp, second);
    const clientOf = async () => {
      const visit = await fetch(`${cluster.url}/api/v1/sso/login/partner/${partnerId}`, { redirect: "manual" });
      return new URL(visit.headers.get("location") ?? "").searchParams.get("client_id");
    };
    expect(await clientOf()).toBe(idp.clientId(0));
    await setStatus(by, oldest.id, "inactive");
    expect(await clientOf()).toBe(idp.clientId(1));
  });

  it.each(["https://a;sandbox/x.png", "https://a,b/x.png", "https://'self'/x.png", "https://*/x.png"])(
    "refuses the logo %s, whose host would change the sign-in page's policy",
    async (url) => {
      const put = await tenant.partnerAdmin.api.call("PUT", "/partners/me/login-branding", { logo_url: url });
      expect([put.status, put.body.code]).toEqual([400, "validation_failed"]);
      expect(put.body.details).toMatchObject({ fieldErrors: { logo_url: [expect.any(String)] } });
    },
  );

  it("shows no button and no branding where several partners share a deployment", async () => {
    const branding = { headline: "Welcome", accentColor: "#0a7c66", logoUrl: null };
    const put = await tenant.partnerAdmin.api.call("PUT", "/partners/me/login-branding", branding);
    expect(put.body).toMatchObject({ headline: "Welcome" });
    await tenantWithAdmins(cluster);
    const context = await api(cluster).call("GET", "/auth/login-context");
    expect(context.body).toEqual({ branding: null, partnerSso: null });
  });
});

describe("the default role", () => {
  it("is checked again for each new account: none is created after its grantor lost the right, and existing users still sign in", async () => {
    const { orgId, admin } = await tenantWithAdmins(cluster);
    const saver = await enrolledAs(cluster, "org-admin", { orgId });
    const provider = await newProvider(saver.api, idp);
    const account = newAccount();
    idp.become(account);
    await signInThrough(cluster, orgId);
    expect((await admin.api.call("POST", `/users/${saver.id}/disable`, {})).status).toBe(200);
    codeOf(await loginFlow(cluster, orgId));
    idp.become(newAccount());
    expect(reasonOf(await loginFlow(cluster, orgId))).toBe("default_role_invalid");
    expect(await lastAttempt(admin.api, provider.id)).toMatchObject({ step: "person", reason: "default_role_invalid" });
    const { defaultRoleId } = provider;
    expect((await admin.api.call("PATCH", `/sso/providers/${provider.id}`, { defaultRoleId })).status).toBe(200);
    codeOf(await loginFlow(cluster, orgId));
  });

  it("belongs to the organization itself, and is only saved by a user who may grant it", async () => {
    const roles = (await tenant.partnerAdmin.api.call("GET", "/roles")).body.data as { id: string; key: string }[];
    const partnerRole = roles.find(({ key }) => key === "partner-admin")?.id;
    const created = await tenant.admin.api.call("POST", "/sso/providers", {
      name: "X",
      type: "oidc",
      defaultRoleId: partnerRole,
    });
    expect(created.status).toBeGreaterThanOrEqual(400);
    expect(created.status).toBeLessThan(500);
  });
});

describe("an issuer", () => {
  it.each([
    "http://login.example.com",
    "https://127.0.0.1",
    "https://[::1]",
    "https://[::ffff:10.0.0.1]",
    "https://10.0.0.1",
    "https://192.168.1.1",
    "https://169.254.169.254",
    "https://metadata.google.internal",
    "https://localhost",
    "https://0x7f000001",
    "https://user:password@login.example.com",
    "file:///etc/passwd",
    "not a url",
  ])("%s is refused, and nothing is kept", async (issuer) => {
    const created = await tenant.admin.api.call("POST", "/sso/providers", {
      name: `Bad ${issuer}`,
      type: "oidc",
      issuer,
    });
    expect([400, 502]).toContain(created.status);
    expect(["validation_failed", "sso_discovery_failed"]).toContain(created.body.code);
    const listed = await tenant.admin.api.call("GET", "/sso/providers?limit=100");
    expect(JSON.stringify(listed.body)).not.toContain(`Bad ${issuer}`);
  });

  it.each([...["issuer", "authorizationUrl", "tokenUrl", "userInfoUrl", "jwksUrl", "samlSsoUrl", "samlMetadataUrl"]])(
    "or another address is refused with its reason for a port that no web server has: %s",
    async (field) => {
      const type = field.startsWith("saml") ? "saml" : "oidc";
      const wanted = { name: `Port ${field}`, type, [field]: "https://login.example.com:25/x" };
      const { status, body } = await tenant.admin.api.call("POST", "/sso/providers", wanted);
      expect([status, body.code, body.reason]).toEqual([400, "validation_failed", "port_not_allowed"]);
      expect(body.details).toMatchObject({ fieldErrors: { [field]: ["No web server has this port"] } });
    },
  );

  it("is asked once for a provider that is made again under its Idempotency-Key, also when it is away by then", async () => {
    const path = "/.well-known/openid-configuration";
    const wanted = { name: "Once", type: "oidc", issuer: idp.issuer, clientId: "x", clientSecret: "y" };
    const headers = { "idempotency-key": randomUUID() };
    const create = (body: object) => tenant.admin.api.call("POST", "/sso/providers", body, headers);
    const first = await create(wanted);
    const requests = idp.seen.filter((each) => each === path).length;
    idp.tampers.set(path, (body) => ({ ...body, issuer: "https://another.example.com" }));
    try {
      const again = await create(wanted);
      expect([again.status, again.body]).toEqual([201, first.body]);
      expect(idp.seen.filter((each) => each === path)).toHaveLength(requests);
      expect((await create({ ...wanted, name: "Other" })).body.code).toBe("idempotency_conflict");
    } finally {
      idp.tampers.delete(path);
      await tenant.admin.api.call("DELETE", `/sso/providers/${first.body.id}`);
    }
  });

  it("with a document that names another, leads to a private endpoint or redirects is refused with the step", async () => {
    const path = "/.well-known/openid-configuration";
    const create = () =>
      tenant.admin.api.call("POST", "/sso/providers", { name: "Bad", type: "oidc", issuer: idp.issuer });
    const changes: [string, Record<string, unknown>][] = [
      ["issuer", { issuer: `${idp.issuer}/` }],
      ["endpoints", { token_endpoint: "https://10.0.0.1/token" }],
      ["endpoints", { jwks_uri: "https://169.254.169.254/keys" }],
      ["endpoints", { authorization_endpoint: "http://login.example.com/auth" }],
      ["document", { token_endpoint: null }],
    ];
    for (const [step, change] of changes) {
      idp.tampers.set(path, (body) => ({ ...body, ...change }));
      const refused = await create();
      expect([refused.status, refused.body.code, refused.body.step]).toEqual([502, "sso_discovery_failed", step]);
    }
    idp.tampers.delete(path);
  });
});

const resetLinkOf = (email: string) => resetTokenOf(cluster, email);

const signedOutOfForce = (orgId: string) =>
  until("enforcement to end", async () => (await checkOf(cluster, orgId)).enforceSSO === false);
