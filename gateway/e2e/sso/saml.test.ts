import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { api } from "../support/client.ts";
import { verifiedDomain } from "../support/dns.ts";
import {
  codeOf,
  lastAttempt,
  linkThrough,
  loginFlow,
  newSamlProvider,
  publicUrl,
  reasonOf,
  setStatus,
  signInThrough,
  upToAnswer,
} from "../support/login-flow.ts";
import { ownSamlProvider } from "../support/own-provider.ts";
import { asDatabaseOwner } from "../support/owner-rows.ts";
import type { SamlAccount } from "../support/saml-identity-provider.ts";
import { tenantWithAdmins } from "../support/tenant-with-admins.ts";
import { formIn, newVisitor, type Visit, type Visitor } from "../support/visitor.ts";

const { cluster, tenant, call, domain, idp, provider } = ownSamlProvider();

const account = (change: Partial<SamlAccount> = {}): SamlAccount => {
  const name = randomUUID().slice(0, 8);
  const email = `${name}@${domain}`;
  return { nameId: email, email, name: `Person ${name}`, ...change };
};

/** Posts a form to us, as a page of another site makes a browser do it. */
const post = (visitor: Visitor, fields: Record<string, string>): Promise<Visit> =>
  visitor.get(`${publicUrl(cluster)}/api/v1/sso/saml/acs`, {
    method: "POST",
    crossSite: true,
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      origin: new URL(idp.ssoUrl).origin,
      "sec-fetch-site": "cross-site",
    },
    body: new URLSearchParams(fields).toString(),
  });
const fieldsOf = (visit: Visit) => Object.fromEntries(formIn(visit)?.fields ?? []);

describe("a SAML provider", () => {
  it("is made from metadata, with our own metadata in return", async () => {
    expect(provider).toMatchObject({
      type: "saml",
      status: "active",
      samlEntityId: idp.entityId,
      samlSsoUrl: idp.ssoUrl,
      samlMetadataError: null,
      samlAcsUrl: expect.stringMatching(/\/api\/v1\/sso\/saml\/acs$/),
      samlCertificates: [{ pem: expect.stringContaining("BEGIN CERTIFICATE"), source: "metadata" }],
    });
    const address = new URL(String(provider.samlSpMetadataUrl));
    const reply = await fetch(`${cluster.url}${address.pathname}`);
    expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "application/samlmetadata+xml"]);
    const xml = await reply.text();
    expect(xml).toContain(`entityID="${address.href}"`);
    expect(xml).toContain('WantAssertionsSigned="true"');
    for (const id of [randomUUID(), tenant.orgId]) {
      const missing = await api(cluster).call("GET", `/sso/saml/metadata/${id}`);
      expect([missing.status, missing.body.code]).toEqual([404, "sso_provider_not_found"]);
    }
  });

  it("is tested as sign-in would use it, and the test reports what it lacks", async () => {
    const tested = await call("POST", `/sso/providers/${provider.id}/test`);
    expect([tested.status, tested.body.success]).toEqual([200, true]);
    const bare = await call("POST", "/sso/providers", { name: "Bare", type: "saml" });
    const refused = await call("POST", `/sso/providers/${bare.body.id}/status`, { status: "active" });
    expect([refused.status, refused.body.missing]).toEqual([409, ["samlEntityId", "samlSsoUrl", "samlCertificates"]]);
    const filled = await call("PATCH", `/sso/providers/${bare.body.id}`, { samlMetadataXml: idp.metadata() });
    expect(filled.body).toMatchObject({ samlEntityId: idp.entityId, samlSsoUrl: idp.ssoUrl });
    await call("DELETE", `/sso/providers/${bare.body.id}`);
  });

  it("is not made from metadata that is none, of a certificate that is none, or at a private address", async () => {
    const create = (fields: object) => call("POST", "/sso/providers", { name: "Bad", type: "saml", ...fields });
    const xml = await create({ samlMetadataXml: "<a/>" });
    expect([xml.status, xml.body.code, xml.body.reason]).toEqual([
      400,
      "saml_metadata_invalid",
      expect.stringMatching(/EntityDescriptor/),
    ]);
    const local = await create({ samlMetadataXml: idp.metadata().replace(idp.ssoUrl, "https://127.0.0.1/sso") });
    expect([local.status, local.body.code]).toEqual([400, "saml_metadata_invalid"]);
    const certificate = await create({ samlCertificates: ["nothing"] });
    expect([certificate.status, certificate.body.code]).toEqual([400, "validation_failed"]);
    const address = await create({ samlMetadataUrl: "https://169.254.169.254/metadata" });
    expect([address.status, address.body.code]).toEqual([400, "validation_failed"]);
    const both = await create({ samlMetadataUrl: idp.metadataUrl, samlMetadataXml: idp.metadata() });
    expect([both.status, both.body.code]).toEqual([400, "validation_failed"]);
  });
});

describe("our key for a SAML provider", () => {
  const certificatesIn = (xml: string) => [...xml.matchAll(/<ds:X509Certificate>([^<]+)/g)].map(([, base64]) => base64);
  const bare = (pem: unknown) => String(pem).replaceAll(/-----[A-Z ]+-----|\s/g, "");

  it("is renewed with a grace period, both in our metadata, and takes over at its end", async () => {
    const { id } = await newSamlProvider(tenant.admin.api, idp, { status: "testing", samlWantEncrypted: true });
    const path = `/sso/providers/${id}/keys`;
    const get = async () => (await call("GET", `/sso/providers/${id}`)).body;
    const offered = async () => {
      const { pathname } = new URL(String((await get()).samlSpMetadataUrl));
      return certificatesIn(await (await fetch(`${cluster.url}${pathname}`)).text());
    };
    const first = await get();
    expect([first.samlNextSpCertificate, first.samlNextKeyAt]).toEqual([null, null]);
    const headers = { "idempotency-key": randomUUID() };
    const renewed = await tenant.admin.api.call("POST", path, { graceDays: 30 }, headers);
    expect([renewed.status, renewed.body.samlSpCertificate]).toEqual([200, first.samlSpCertificate]);
    const next = renewed.body.samlNextSpCertificate;
    expect(Date.parse(String(renewed.body.samlNextKeyAt))).toBeGreaterThan(Date.now() + 29 * 86_400_000);
    expect(await offered()).toEqual([bare(next), bare(first.samlSpCertificate)]);
    expect((await tenant.admin.api.call("POST", path, { graceDays: 30 }, headers)).body).toEqual(renewed.body);

    const moved = await call("POST", path, { graceDays: 1 });
    expect(moved.body).toMatchObject({ samlNextSpCertificate: next });
    expect(Date.parse(String(moved.body.samlNextKeyAt))).toBeLessThan(Date.now() + 2 * 86_400_000);
    await call("PATCH", `/sso/providers/${id}`, { name: "Renamed meanwhile" });
    expect(await get()).toMatchObject({ samlNextSpCertificate: next });

    const ended = await call("POST", path, { graceDays: 0 });
    expect(ended.body).toMatchObject({ samlSpCertificate: next, samlNextSpCertificate: null, samlNextKeyAt: null });
    const replaced = await call("POST", path, { graceDays: 0 });
    expect(await offered()).toEqual([bare(replaced.body.samlSpCertificate)]);
    expect(replaced.body.samlSpCertificate).not.toBe(next);
    await until("the audit rows", async () => {
      const { body } = await call("GET", `/audit-logs/logs?action=sso.provider.keys.rotate&limit=100`);
      return (body.data as { resourceId?: string }[]).length >= 4;
    });
    await call("DELETE", `/sso/providers/${id}`);
  });

  it("is refused by name where it cannot be, and for outsiders as their providers are", async () => {
    const path = `/sso/providers/${provider.id}/keys`;
    for (const graceDays of [-1, 91, 1.5, "30"]) {
      const refused = await call("POST", path, { graceDays });
      expect([refused.status, refused.body.details]).toMatchObject([
        400,
        { fieldErrors: { graceDays: expect.anything() } },
      ]);
    }
    const oidc = await call("POST", "/sso/providers", { name: "Other", type: "oidc" });
    expect((await call("POST", `/sso/providers/${oidc.body.id}/keys`)).status).toBe(400);
    const other = await tenantWithAdmins(cluster);
    expect((await other.admin.api.call("POST", path)).body.code).toBe("sso_provider_not_found");
    await call("DELETE", `/sso/providers/${oidc.body.id}`);
  });
});

describe("a sign-in by SAML", () => {
  it("makes an account with the default role, the second time finds it, and logs out", async () => {
    const who = account();
    idp.become(who);
    const first = await signInThrough(cluster, tenant.orgId);
    expect(first.user).toMatchObject({ email: who.email, name: who.name, orgId: tenant.orgId });
    const second = await signInThrough(cluster, tenant.orgId);
    expect(second.user.id).toBe(first.user.id);
    expect((await second.api.call("GET", "/auth/me")).body.role).toBe("org-viewer");
    expect(await lastAttempt(tenant.admin.api, provider.id)).toMatchObject({
      outcome: "success",
      step: "code",
      email: who.email,
    });
    expect((await second.api.call("POST", "/auth/logout")).status).toBe(200);
    expect((await second.api.call("GET", "/auth/me")).body.code).toBe("session_revoked");
  });

  it("needs the browser that began it: the handle of another's answer is worth nothing", async () => {
    idp.become(account());
    const { visitor, last } = await upToAnswer(cluster, tenant.orgId);
    const answered = await post(visitor, fieldsOf(last));
    expect([answered.status, answered.headers["cache-control"]]).toEqual([303, "no-store"]);
    expect(answered.location).toMatch(/\/api\/v1\/sso\/callback\?state=[\w-]{43}&saml=[\w-]{43}$/);
    expect(reasonOf(await newVisitor().get(answered.location ?? ""))).toBe("invalid_callback");
    const wrong = new URL(answered.location ?? "");
    wrong.searchParams.set("saml", "x".repeat(43));
    const other = await upToAnswer(cluster, tenant.orgId);
    const mine = await post(other.visitor, fieldsOf(other.last));
    const state = new URL(mine.location ?? "").searchParams.get("state") ?? "";
    wrong.searchParams.set("state", state);
    expect(reasonOf(await other.visitor.get(wrong.href))).toBe("invalid_callback");
    expect(codeOf(await visitor.get(answered.location ?? ""))).toBeTruthy();
  });

  it("is accepted once: a repeat, also concurrent or for another sign-in, is refused", async () => {
    idp.become(account());
    const { visitor, last } = await upToAnswer(cluster, tenant.orgId);
    const fields = fieldsOf(last);
    const both = await Promise.all([post(visitor, fields), post(visitor, fields)]);
    const accepted = both.filter(({ location }) => location?.includes("&saml="));
    expect(accepted).toHaveLength(1);
    const refused = both.map((visit) => reasonOf(visit)).filter((reason) => reason !== null);
    expect(refused).toEqual([expect.stringMatching(/assertion_invalid|session_expired/)]);
    const next = await upToAnswer(cluster, tenant.orgId);
    const mixed = { SAMLResponse: fields.SAMLResponse ?? "", RelayState: fieldsOf(next.last).RelayState ?? "" };
    expect(reasonOf(await post(next.visitor, mixed))).toBe("assertion_invalid");
    expect(await lastAttempt(tenant.admin.api, provider.id)).toMatchObject({
      step: "assertion",
      detail: expect.stringMatching(/another request/),
    });
    // The answer to this login flow's own request comes too late: the refusal has ended the login flow.
    expect(reasonOf(await post(next.visitor, fieldsOf(next.last)))).toBe("session_expired");
    expect(codeOf(await visitor.get(accepted[0]?.location ?? ""))).toBeTruthy();
    expect(reasonOf(await post(visitor, fields))).toBe("session_expired");
  });

  it("is worth nothing at another organization's provider of the same identity provider", async () => {
    const other = await tenantWithAdmins(cluster);
    const elsewhere = await newSamlProvider(other.admin.api, idp);
    idp.become(account());
    const [mine, theirs] = [await upToAnswer(cluster, tenant.orgId), await upToAnswer(cluster, other.orgId)];
    const { id, assertionConsumerServiceURL } = (await idp.parsed(mine.last.url)).request;
    const forged = await idp.respond({
      id: (await idp.parsed(theirs.last.url)).request.id,
      issuer: String(provider.samlSpMetadataUrl),
      assertionConsumerServiceURL,
    });
    expect(id).toBeTruthy();
    expect(
      reasonOf(
        await post(theirs.visitor, { SAMLResponse: forged, RelayState: fieldsOf(theirs.last).RelayState ?? "" }),
      ),
    ).toBe("assertion_invalid");
    expect(await lastAttempt(other.admin.api, elsewhere.id)).toMatchObject({
      detail: expect.stringMatching(/another audience/),
    });
  });

  it("ends when the provider was changed meanwhile, or it took longer than ten minutes", async () => {
    idp.become(account());
    const changed = await upToAnswer(cluster, tenant.orgId);
    await call("PATCH", `/sso/providers/${provider.id}`, { name: "Renamed" });
    expect(reasonOf(await post(changed.visitor, fieldsOf(changed.last)))).toBe("provider_changed");
    const slow = await upToAnswer(cluster, tenant.orgId);
    await asDatabaseOwner(
      cluster,
      "UPDATE identity.sso_login_sessions SET expires_at = now() - interval '1 second' WHERE provider_id = $1 AND consumed_at IS NULL",
      [provider.id],
    );
    expect(reasonOf(await post(slow.visitor, fieldsOf(slow.last)))).toBe("session_expired");
  });

  it("ends with the provider's own error, for an unsigned assertion, and for junk, each with a page and no session", async () => {
    const before = await asDatabaseOwner(cluster, "SELECT count(*)::int AS n FROM identity.users WHERE org_id = $1", [
      tenant.orgId,
    ]);
    idp.become(account());
    idp.alter((options) => ({ ...options, signAssertion: false }));
    expect(reasonOf(await loginFlow(cluster, tenant.orgId))).toBe("assertion_invalid");
    expect(await lastAttempt(tenant.admin.api, provider.id)).toMatchObject({ detail: "the assertion is not signed" });
    idp.alter((options) => ({ ...options, samlStatusCode: "urn:oasis:names:tc:SAML:2.0:status:Responder" }));
    expect(reasonOf(await loginFlow(cluster, tenant.orgId))).toBe("idp_error");
    idp.alter();
    for (const SAMLResponse of ["", "%%%", "PGE+", "A".repeat(150_000)]) {
      const { visitor, last } = await upToAnswer(cluster, tenant.orgId);
      expect(reasonOf(await post(visitor, { ...fieldsOf(last), SAMLResponse }))).toBe("assertion_invalid");
    }
    const visitor = newVisitor();
    const junk: Record<string, string>[] = [
      {},
      { SAMLResponse: "PGE+" },
      { SAMLResponse: "PGE+", RelayState: "x".repeat(43) },
      { RelayState: "x".repeat(5_000) },
    ];
    for (const fields of junk) {
      const visit = await post(visitor, fields);
      expect([visit.status, reasonOf(visit)]).toEqual([303, "invalid_callback"]);
    }
    const after = await asDatabaseOwner(cluster, "SELECT count(*)::int AS n FROM identity.users WHERE org_id = $1", [
      tenant.orgId,
    ]);
    expect(after).toEqual(before);
  });

  /** As if the provider's metadata had been read that long ago. */
  const metadataReadBefore = (seconds: number) =>
    asDatabaseOwner(
      cluster,
      "UPDATE identity.sso_providers SET saml_metadata_at = now() - $2 * interval '1 second' WHERE id = $1",
      [provider.id, seconds],
    );

  it("goes on when the provider changes its key: the metadata is read daily, and old certificates stay for a grace period", async () => {
    const who = account();
    idp.become(who);
    await signInThrough(cluster, tenant.orgId);
    await idp.rotate();
    await metadataReadBefore(0);
    expect(reasonOf(await loginFlow(cluster, tenant.orgId))).toBe("assertion_invalid");
    await call("PATCH", `/sso/providers/${provider.id}`, {
      samlMetadataUrl: idp.metadataUrl,
      samlCertificates: (provider.samlCertificates as { pem: string }[]).map(({ pem }) => pem),
    });
    await signInThrough(cluster, tenant.orgId);
    const { body } = await call("GET", `/sso/providers/${provider.id}`);
    expect(body.samlCertificates).toHaveLength(2);
  });

  it("goes on within the same sign-in when the provider changed its key: its metadata is read out of turn", async () => {
    const count = async () => {
      const { body } = await call("GET", `/sso/providers/${provider.id}`);
      return (body.samlCertificates as object[]).length;
    };
    await metadataReadBefore(20);
    const before = await count();
    await idp.rotate();
    idp.become(account());
    expect(reasonOf(await loginFlow(cluster, tenant.orgId))).toBe("assertion_invalid");
    await metadataReadBefore(31);
    // Those that began before go on, too, whichever of them comes first.
    const inFlight = await Promise.all(
      [1, 2, 3].map(async () => {
        idp.become(account());
        return upToAnswer(cluster, tenant.orgId);
      }),
    );
    const answered = await Promise.all(inFlight.map(({ visitor, last }) => post(visitor, fieldsOf(last))));
    expect(answered.map((each) => reasonOf(each))).toEqual([null, null, null]);
    const ends = await Promise.all(
      answered.map(({ location }, at) => (inFlight[at] as (typeof inFlight)[0]).visitor.get(location ?? "")),
    );
    expect(ends.map((end) => reasonOf(end))).toEqual([null, null, null]);
    expect(await count()).toBe(before + 1);
    await signInThrough(cluster, tenant.orgId);
  });

  it("goes on at once when an administrator tests the provider after it changed its key", async () => {
    const differing = idp.metadata().replace(`"${idp.ssoUrl}"`, `"${idp.ssoUrl}/new"`);
    await idp.rotate();
    const unchanged = await call("POST", `/sso/providers/${provider.id}/test`);
    const isNew = { pem: expect.stringContaining("BEGIN"), source: "metadata" };
    expect(unchanged.body).toMatchObject({
      success: true,
      samlMetadata: { added: [isNew], omitted: [], differences: [] },
    });
    expect(unchanged.body.samlMetadata).toMatchObject({
      missing: expect.arrayContaining([expect.objectContaining(isNew)]),
    });
    idp.become(account());
    await signInThrough(cluster, tenant.orgId);
    idp.publish(differing);
    const other = await call("POST", `/sso/providers/${provider.id}/test`);
    idp.publish();
    expect(other.body.samlMetadata).toMatchObject({
      differences: [{ field: "samlSsoUrl", current: idp.ssoUrl, found: `${idp.ssoUrl}/new` }],
    });
    const { body } = await call("GET", `/sso/providers/${provider.id}`);
    expect(body.samlSsoUrl).toBe(idp.ssoUrl);
  });
});

describe("an account of one's own", () => {
  it("is linked through a provider that is only tried out, which makes every check", async () => {
    const trial = await newSamlProvider(tenant.admin.api, idp, { status: "testing" });
    idp.become(account({ email: tenant.admin.email, nameId: tenant.admin.email }));
    const end = await linkThrough(cluster, tenant.admin.api, trial.id);
    expect(end.location).toMatch(/\/profile\?ssoLinked=1$/);
    expect(await lastAttempt(tenant.admin.api, trial.id)).toMatchObject({
      kind: "link",
      outcome: "success",
      step: "link",
    });
    idp.become(account());
    expect((await linkThrough(cluster, tenant.admin.api, trial.id)).location).toMatch(
      /ssoLinkError=email_mismatch&attempt=[-\da-f]{36}$/,
    );
    idp.alter((options) => ({ ...options, signAssertion: false }));
    expect((await linkThrough(cluster, tenant.admin.api, trial.id)).location).toMatch(
      /ssoLinkError=assertion_invalid&attempt=/,
    );
    idp.alter();
    await setStatus(tenant.admin.api, trial.id, "inactive");
  });

  it("is found by the attribute that is set, where the NameID is transient, and a change of it removes the links", async () => {
    const subjectAttribute = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/nameidentifier";
    const trial = await newSamlProvider(tenant.admin.api, idp, { status: "testing" });
    idp.become(account({ email: tenant.admin.email, nameId: "ada-1" }));
    const nameIdentifierFormat = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
    idp.alter((options) => ({ ...options, nameIdentifierFormat }));
    const linked = async () => {
      const { body } = await call("GET", "/sso/link/options");
      return (body.data as { id: string; linked: boolean }[]).find(({ id }) => id === trial.id)?.linked;
    };
    const attempt = async (fields: object, end: RegExp, detail: unknown) => {
      expect((await call("PATCH", `/sso/providers/${trial.id}`, fields)).status).toBe(200);
      expect((await linkThrough(cluster, tenant.admin.api, trial.id)).location).toMatch(end);
      expect((await lastAttempt(tenant.admin.api, trial.id)).detail).toEqual(detail);
    };
    await attempt(
      { subjectAttribute: null },
      /=assertion_invalid&attempt=/,
      expect.stringMatching(/transient.*subjectAttribute/),
    );
    await attempt(
      { subjectAttribute: "employeeNumber" },
      /=assertion_invalid&attempt=/,
      expect.stringMatching(/employeeNumber/),
    );
    await attempt({ subjectAttribute }, /ssoLinked=1$/, null);
    expect(await linked()).toBe(true);
    await call("PATCH", `/sso/providers/${trial.id}`, { name: "Renamed", subjectAttribute });
    expect(await linked()).toBe(true);
    await call("PATCH", `/sso/providers/${trial.id}`, { subjectAttribute: null });
    expect(await linked()).toBe(false);
    const oidc = await call("POST", "/sso/providers", { name: "Other", type: "oidc", subjectAttribute });
    expect([oidc.status, oidc.body.details]).toMatchObject([
      400,
      { fieldErrors: { subjectAttribute: expect.anything() } },
    ]);
    idp.alter();
    await setStatus(tenant.admin.api, trial.id, "inactive");
  });

  it("works for a partner's users, too, and a partner's provider creates no account", async () => {
    const by = tenant.partnerAdmin.api;
    await newSamlProvider(by, idp, { ownerScope: "partner" });
    const staff = `${randomUUID()}.example`;
    await verifiedDomain(cluster, by, staff, { ownerScope: "partner" });
    idp.become(account({ email: `new@${staff}`, nameId: `new@${staff}` }));
    expect(reasonOf(await loginFlow(cluster, `partner/${tenant.partnerId}`))).toBe("invite_required");
    const roles = (await by.call("GET", "/roles")).body.data as { id: string; key: string }[];
    const roleId = roles.find(({ key }) => key === "partner-technician")?.id;
    const invited = await by.call("POST", "/users", {
      email: `new@${staff}`,
      name: "Invited",
      roleId,
      partnerId: tenant.partnerId,
      orgAccess: "all",
    });
    expect(invited.status).toBe(201);
    const signedIn = await signInThrough(cluster, `partner/${tenant.partnerId}`);
    expect(signedIn.user.id).toBe(invited.body.id);
  });
});

it("leaves audit rows of failed and completed sign-ins", async () => {
  const actions = await until("the audit rows", async () => {
    const { body } = await call("GET", "/audit-logs/logs?limit=100");
    const found = (body.data as { action: string }[]).map(({ action }) => action);
    return ["user.login.failed", "user.login", "user.create", "sso.provider.create"].every((each) =>
      found.includes(each),
    )
      ? found
      : null;
  });
  expect(actions).toContain("user.login.failed");
});
