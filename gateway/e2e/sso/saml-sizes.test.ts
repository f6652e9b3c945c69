import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { lastAttempt, linkThrough, publicUrl, reasonOf, signInThrough, upToAnswer } from "../support/login-flow.ts";
import { ownSamlProvider } from "../support/own-provider.ts";
import { tenantWithAdmins } from "../support/tenant-with-admins.ts";
import { formIn, newVisitor, type Visit } from "../support/visitor.ts";

const { cluster, tenant, call, domain, idp, provider } = ownSamlProvider();

/** Posts text to the address of assertions, as a page of the identity provider makes a browser do it. */
const post = (body: string, type = "application/x-www-form-urlencoded"): Promise<Visit> =>
  newVisitor().get(`${publicUrl(cluster)}/api/v1/sso/saml/acs`, {
    method: "POST",
    crossSite: true,
    headers: { "content-type": type, "sec-fetch-site": "cross-site" },
    body,
  });
const attemptOf = ({ location }: Visit) => new URL(location ?? "").searchParams.get("attempt");

/** The state of a login flow that waits for an answer. */
async function waitingState(): Promise<string> {
  const { last } = await upToAnswer(cluster, tenant.orgId);
  return formIn(last)?.fields.get("RelayState") ?? "";
}

describe("a SAML response of many kilobytes", () => {
  it("signs in", async () => {
    const email = `${randomUUID().slice(0, 8)}@${domain}`;
    // Verified apart from other requests by its size.
    idp.become({ nameId: email, email, name: `Ada ${"x".repeat(300_000)}` });
    const { user } = await signInThrough(cluster, tenant.orgId);
    expect(user).toMatchObject({ email, name: expect.stringMatching(/^Ada x+$/) });
  });

  it.each([
    ["beyond the limit of a response", 1_500_000, "the response has 1125000 bytes, at most 1048576 are accepted"],
    [
      "beyond the limit of a form",
      3_000_000,
      /^the posted form has 30000\d\d bytes, at most 2097152 are accepted, for a response of at most 1048576$/,
    ],
  ])(
    "ends on the sign-in page when it is %s, with an attempt that says size and limit",
    async (_case, length, detail) => {
      for (const stateFirst of [false, true]) {
        const state = await waitingState();
        const fields = [`SAMLResponse=${"A".repeat(length)}`, `RelayState=${state}`];
        const visit = await post((stateFirst ? fields.reverse() : fields).join("&"));
        expect([visit.status, visit.text, reasonOf(visit)]).toEqual([303, "", "assertion_invalid"]);
        const attempt = await lastAttempt(tenant.admin.api, provider.id);
        expect(attempt).toMatchObject({
          id: attemptOf(visit),
          step: "assertion",
          detail: typeof detail === "string" ? detail : expect.stringMatching(detail),
        });
        // It has ended the login flow.
        expect(reasonOf(await post(`SAMLResponse=PGE%2B&RelayState=${state}`))).toBe("session_expired");
      }
    },
  );

  it("for an unknown sign-in, of another type or with bytes that no text has ends there, too", async () => {
    const state = await waitingState();
    const bodies: [string, string?][] = [
      [`SAMLResponse=${"A".repeat(3_000_000)}`],
      [`SAMLResponse=${"A".repeat(3_000_000)}&RelayState=${"x".repeat(43)}`],
      ["{}", "application/json"],
      [`SAMLResponse=%00&RelayState=${state}`],
      ["", "text/plain"],
    ];
    for (const [body, type] of bodies) {
      const visit = await post(body, type);
      expect([visit.status, visit.text, reasonOf(visit)]).toEqual([303, "", "invalid_callback"]);
      expect(attemptOf(visit)).toBeNull();
    }
  });
});

describe("a failed sign-in", () => {
  it("is looked up by the id that its user was shown, by administrators of its provider alone", async () => {
    const visit = await post(`SAMLResponse=PGE%2B&RelayState=${await waitingState()}`);
    const id = attemptOf(visit);
    const found = await call("GET", `/sso/attempts/${id}`);
    expect(found.body).toMatchObject({ id, providerId: provider.id, reason: "assertion_invalid", outcome: "failure" });
    const { body } = await call("GET", "/sso/attempts");
    expect((body.data as { id: string }[])[0]?.id).toBe(id);
    const other = await tenantWithAdmins(cluster);
    const hidden = await other.admin.api.call("GET", `/sso/attempts/${id}`);
    expect([hidden.status, hidden.body.code]).toEqual([404, "sso_attempt_not_found"]);
    expect((await other.admin.api.call("GET", "/sso/attempts")).body.data).toEqual([]);
  });

  it("to link an account shows its id in the profile", async () => {
    idp.become({ nameId: "other", email: `other@${domain}`, name: "Other" });
    const visit = await linkThrough(cluster, tenant.admin.api, provider.id);
    expect(new URL(visit.location ?? "").searchParams.get("ssoLinkError")).toBe("email_mismatch");
    expect((await call("GET", `/sso/attempts/${attemptOf(visit)}`)).body).toMatchObject({ kind: "link", step: "link" });
  });
});
