import { describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { api } from "../support/client.ts";
import { type Account, newAccount } from "../support/identity-provider.ts";
import {
  codeOf,
  lastAttempt,
  loginFlow,
  newProvider,
  publicUrl,
  reasonOf,
  setStatus,
  signInThrough,
  upToAnswer,
} from "../support/login-flow.ts";
import { proveMailbox } from "../support/mailbox.ts";
import { ownProvider } from "../support/own-provider.ts";
import { asDatabaseOwner } from "../support/owner-rows.ts";
import { tenantWithAdmins } from "../support/tenant-with-admins.ts";
import { signedInAs, signInAgain } from "../support/users.ts";
import { newVisitor } from "../support/visitor.ts";

const { cluster, tenant, call, idp, provider } = ownProvider();

describe("a sign-in through an organization's provider", () => {
  it("makes an account with the default role, and the second time finds it", async () => {
    const who = newAccount();
    idp.become(who);
    const first = await signInThrough(cluster, tenant.orgId);
    expect(first.user).toMatchObject({ email: who.email, name: who.name, scope: "organization", orgId: tenant.orgId });
    const me = await first.api.call("GET", "/auth/me");
    expect([me.status, me.body.role]).toEqual([200, "org-viewer"]);
    const second = await signInThrough(cluster, tenant.orgId);
    expect(second.user.id).toBe(first.user.id);
    expect(second.accessToken).not.toBe(first.accessToken);
    expect(await lastAttempt(tenant.admin.api, provider.id)).toMatchObject({
      kind: "login",
      outcome: "success",
      step: "code",
      reason: null,
      email: who.email,
    });
    const rows = await until("the audit rows", async () => {
      const { body } = await call("GET", `/audit-logs/logs?limit=100&user=${encodeURIComponent(who.email ?? "")}`);
      const actions = (body.data as { action: string }[]).map(({ action }) => action);
      return actions.filter((action) => action === "user.login").length === 2 ? actions : null;
    });
    expect(rows).toEqual(["user.login", "user.login"]);
    const made = await call("GET", "/audit-logs/logs?limit=100&action=user.create");
    expect(JSON.stringify(made.body)).toContain(first.user.id);
  });

  it("returns to the requested page, and logs out", async () => {
    idp.become(newAccount());
    const end = await loginFlow(cluster, tenant.orgId, { redirect: "/devices?status=offline" });
    expect(end.location).toMatch(/^http:\/\/localhost:\d+\/devices\?status=offline#ssoCode=[\w-]{43}$/);
    expect(end.headers["cache-control"]).toBe("no-store");
    expect(end.headers["referrer-policy"]).toBe("no-referrer");
    const { body } = await api(cluster).call("POST", "/sso/exchange", { code: codeOf(end) });
    const mine = api(cluster, String(body.accessToken));
    expect((await mine.call("POST", "/auth/logout")).status).toBe(200);
    expect((await mine.call("GET", "/auth/me")).body.code).toBe("session_revoked");
  });

  it.each([
    "https://evil.example.com/",
    "//evil.example.com",
    "/\\evil.example.com",
    "/%2f%2fevil.example.com",
    "/%5cevil.example.com",
    "/a\r\nSet-Cookie: a=b",
    "javascript:alert(1)",
    "@evil.example.com",
  ])("ends at our own first page when it was to go on to %j", async (redirect) => {
    idp.become(newAccount());
    const { location } = await loginFlow(cluster, tenant.orgId, { redirect });
    expect(location).toMatch(new RegExp(`^${publicUrl(cluster)}/#ssoCode=[\\w-]{43}$`));
  });

  it("has a code that works once", async () => {
    idp.become(newAccount());
    const code = codeOf(await loginFlow(cluster, tenant.orgId));
    const both = await Promise.all([1, 2].map(() => api(cluster).call("POST", "/sso/exchange", { code })));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
    const refused = await api(cluster).call("POST", "/sso/exchange", { code });
    expect([refused.status, refused.body.code, refused.body.error]).toEqual([
      400,
      "invalid_exchange_code",
      "Invalid or expired token exchange code",
    ]);
  });

  it.each(["session_state=3f1c", "authuser=0&hd=acme.example&prompt=consent&scope=openid", "client_info=e30"])(
    "goes on with parameters that providers add of their own: %s",
    async (theirs) => {
      idp.become(newAccount());
      const { visitor, callback } = await upToAnswer(cluster, tenant.orgId);
      expect(codeOf(await visitor.get(`${callback}&${theirs}`))).toBeTruthy();
    },
  );

  it("begins with parameters of the page that links to it", async () => {
    const started = await newVisitor().get(
      `${cluster.url}/api/v1/sso/login/${tenant.orgId}?utm_source=mail&hd=acme.example`,
    );
    expect([started.status, started.location]).toEqual([302, expect.stringContaining("state=")]);
  });

  it("sets a cookie for the callback alone, and requests with state, nonce and S256", async () => {
    const visitor = newVisitor();
    const started = await visitor.get(`${cluster.url}/api/v1/sso/login/${tenant.orgId}`);
    expect(started.status).toBe(302);
    expect(started.headers["set-cookie"]?.[0]).toMatch(
      /^service_sso_state=[\w-]{43}; Max-Age=600; Path=\/api\/v1\/sso\/callback; HttpOnly; SameSite=Lax$/,
    );
    const requested = new URL(started.location ?? "").searchParams;
    expect(Object.fromEntries(requested)).toMatchObject({
      response_type: "code",
      client_id: idp.clientId(),
      scope: "openid profile email",
      code_challenge_method: "S256",
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    });
  });
});

describe("a login flow that does not end as it started", () => {
  const upToCallback = () => upToAnswer(cluster, tenant.orgId);

  it("ends for a second browser, and goes on for the first", async () => {
    idp.become(newAccount());
    const { visitor, callback } = await upToCallback();
    const otherBrowser = await newVisitor().get(callback);
    expect([otherBrowser.status, reasonOf(otherBrowser)]).toEqual([302, "invalid_callback"]);
    expect(await lastAttempt(tenant.admin.api, provider.id)).toMatchObject({
      outcome: "failure",
      step: "cookie",
      reason: "invalid_callback",
    });
    expect(codeOf(await visitor.get(callback))).toBeTruthy();
  });

  it("ends for a callback that comes again, also at the same time", async () => {
    idp.become(newAccount());
    const { visitor, callback } = await upToCallback();
    const both = await Promise.all([visitor.get(callback), visitor.get(callback)]);
    expect(both.map((visit) => reasonOf(visit)).sort()).toEqual([null, "session_expired"].sort());
    const { body } = await call("GET", `/sso/providers/${provider.id}/attempts?limit=2`);
    const reasons = (body.data as { reason: string | null }[]).map(({ reason }) => reason);
    expect(new Set(reasons)).toEqual(new Set([null, "session_expired"]));
    // The cookie was removed at the end of the login flow.
    expect(reasonOf(await visitor.get(callback))).toBe("invalid_callback");
  });

  it("ends when the provider was changed or switched off meanwhile", async () => {
    const own = await newProvider(tenant.admin.api, idp, { name: "Changed", status: "inactive", client: 1 });
    idp.become(newAccount());
    const before = await upToCallback();
    expect((await call("PATCH", `/sso/providers/${provider.id}`, { name: "Renamed" })).status).toBe(200);
    expect(reasonOf(await before.visitor.get(before.callback))).toBe("provider_changed");
    expect(await lastAttempt(tenant.admin.api, provider.id)).toMatchObject({ step: "generation" });
    const code = codeOf(await loginFlow(cluster, tenant.orgId));
    await call("PATCH", `/sso/providers/${provider.id}`, { name: "Again" });
    expect((await api(cluster).call("POST", "/sso/exchange", { code })).body.code).toBe("invalid_exchange_code");
    await call("DELETE", `/sso/providers/${own.id}`);
  });

  it("ends with the provider's own error", async () => {
    idp.become(newAccount());
    const { visitor, callback } = await upToCallback();
    const url = new URL(callback);
    url.searchParams.delete("code");
    url.searchParams.set("error", "access_denied");
    expect(reasonOf(await visitor.get(url.href))).toBe("idp_error");
    expect(await lastAttempt(tenant.admin.api, provider.id)).toMatchObject({ detail: "access_denied" });
  });

  it("answers junk with the sign-in page, and never with JSON", async () => {
    const visitor = newVisitor();
    for (const query of ["", "?state=x", "?state=a&state=b", `?state=${"x".repeat(5_000)}`, "?code=%ff%fe"]) {
      const visit = await visitor.get(`${cluster.url}/api/v1/sso/callback${query}`);
      expect([visit.status, reasonOf(visit)]).toEqual([302, "invalid_callback"]);
    }
  });
});

describe("a sign-in that took too long", () => {
  const late = (table: string) =>
    asDatabaseOwner(
      cluster,
      `UPDATE identity.${table} SET expires_at = now() - interval '1 second' WHERE provider_id = $1`,
      [provider.id],
    );

  it("ends at the callback after ten minutes, without a session, with its reason for the administrator", async () => {
    idp.become(newAccount());
    const { visitor, callback } = await upToAnswer(cluster, tenant.orgId);
    await late("sso_login_sessions");
    expect(reasonOf(await visitor.get(callback))).toBe("session_expired");
    expect(await lastAttempt(tenant.admin.api, provider.id)).toMatchObject({
      step: "consume",
      reason: "session_expired",
    });
  });

  it("ends at the exchange after two minutes, and when the user was disabled by then", async () => {
    const who = newAccount();
    idp.become(who);
    const exchange = async (code: string) => (await api(cluster).call("POST", "/sso/exchange", { code })).body.code;
    const slow = codeOf(await loginFlow(cluster, tenant.orgId));
    await late("sso_exchange_codes");
    expect(await exchange(slow)).toBe("invalid_exchange_code");
    const { user } = await signInThrough(cluster, tenant.orgId);
    const disabled = codeOf(await loginFlow(cluster, tenant.orgId));
    await call("POST", `/users/${user.id}/disable`, {});
    expect(await exchange(disabled)).toBe("invalid_exchange_code");
  });

  it("ends when the provider was disabled or deleted meanwhile", async () => {
    const { orgId, admin } = await tenantWithAdmins(cluster);
    const own = await newProvider(admin.api, idp, { client: 2 });
    idp.become(newAccount());
    const first = await upToAnswer(cluster, orgId);
    await setStatus(admin.api, own.id, "inactive");
    expect(reasonOf(await first.visitor.get(first.callback))).toBe("provider_changed");
    await setStatus(admin.api, own.id, "active");
    const second = await upToAnswer(cluster, orgId);
    const code = codeOf(await loginFlow(cluster, orgId));
    await admin.api.call("DELETE", `/sso/providers/${own.id}`);
    expect(reasonOf(await second.visitor.get(second.callback))).toBe("session_expired");
    expect((await api(cluster).call("POST", "/sso/exchange", { code })).body.code).toBe("invalid_exchange_code");
    const sessions = await asDatabaseOwner(cluster, "SELECT id FROM identity.sessions WHERE sso_provider_id = $1", [
      own.id,
    ]);
    expect(sessions).toEqual([]);
  });
});

describe("a sign-in through a provider", () => {
  const endOf = async (who: Account) => {
    idp.become(who);
    return loginFlow(cluster, tenant.orgId);
  };

  it("is refused for an address that the provider calls unverified", async () => {
    expect(reasonOf(await endOf(newAccount({ email_verified: false })))).toBe("email_unverified");
    expect(reasonOf(await endOf(newAccount({ email_verified: "false" })))).toBe("email_unverified");
  });

  it("is refused for a new user while the provider does not state whether the address is verified and its domain is not verified", async () => {
    const { email_verified: _, ...silent } = newAccount();
    expect(reasonOf(await endOf(silent as Account))).toBe("domain_not_verified");
  });

  it("is refused without an address", async () => {
    expect(reasonOf(await endOf(newAccount({ email: "not an address" })))).toBe("email_missing");
  });

  it("is refused for the owner of an account with a password, before the account is linked", async () => {
    const end = await endOf(newAccount({ email: tenant.admin.email }));
    expect(reasonOf(end)).toBe("link_required");
  });

  it("is refused for the proven address of the partner's staff, with the sentence of an address that is not allowed", async () => {
    const staff = await signedInAs(cluster, "partner-technician", { partnerId: tenant.partnerId, orgAccess: "all" });
    await proveMailbox(cluster, staff);
    expect(reasonOf(await endOf(newAccount({ email: staff.email })))).toBe("domain_not_allowed");
    expect(await lastAttempt(tenant.admin.api, provider.id)).toMatchObject({
      step: "person",
      detail: "This e-mail address cannot be used here",
    });
  });

  it("makes an account of the organization for an address that nobody has proven, never signing in the partner's staff", async () => {
    idp.become(newAccount({ email: tenant.partnerAdmin.email }));
    const { user } = await signInThrough(cluster, tenant.orgId);
    expect(user).toMatchObject({ scope: "organization", orgId: tenant.orgId, email: tenant.partnerAdmin.email });
    expect(user.id).not.toBe(tenant.partnerAdmin.id);
    expect((await call("GET", `/users/${user.id}`)).body).toMatchObject({ emailProven: false });
    expect((await signInAgain(cluster, tenant.partnerAdmin)).api).toBeTruthy();
  });

  it("is accepted for an invited user, with the invitation's role", async () => {
    const who = newAccount();
    const roles = (await call("GET", "/roles")).body.data as { id: string; key: string }[];
    const roleId = roles.find(({ key }) => key === "org-admin")?.id;
    const invited = await call("POST", "/users", { email: who.email?.toUpperCase(), name: "Invited", roleId });
    expect(invited.status).toBe(201);
    idp.become(who);
    const signedIn = await signInThrough(cluster, tenant.orgId);
    expect(signedIn.user.id).toBe(invited.body.id);
    expect((await signedIn.api.call("GET", "/auth/me")).body.role).toBe("org-admin");
  });

  it("is refused for a disabled account", async () => {
    const who = newAccount();
    idp.become(who);
    const { user } = await signInThrough(cluster, tenant.orgId);
    expect((await call("POST", `/users/${user.id}/disable`, {})).status).toBe(200);
    expect(reasonOf(await loginFlow(cluster, tenant.orgId))).toBe("user_disabled");
  });

  it("creates one account for twenty concurrent first sign-ins of one user", async () => {
    const who = newAccount();
    idp.become(who);
    const ends = await Promise.all(Array.from({ length: 20 }, () => loginFlow(cluster, tenant.orgId)));
    expect(new Set(ends.map((end) => reasonOf(end)))).toEqual(new Set([null]));
    const listed = await call("GET", `/users?search=${who.email?.split("@")[0]}`);
    expect((listed.body.data ?? []).length).toBe(1);
  });
});
