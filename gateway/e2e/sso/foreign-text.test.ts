import { describe, expect, it } from "@jest/globals";
import { foreignTexts } from "@muster/testing";
import { decodeJwt } from "jose";
import { newAccount } from "../support/identity-provider.ts";
import { lastAttempt, loginFlow, reasonOf, upToAnswer } from "../support/login-flow.ts";
import { ownProvider } from "../support/own-provider.ts";
import { asDatabaseOwner } from "../support/owner-rows.ts";

const { cluster, tenant, idp, provider } = ownProvider();

/** A login flow in which the ID token and the user info claim something else. */
async function endWith(change: Record<string, unknown>): Promise<string | null> {
  idp.become(newAccount());
  const sign = (claims: object) => idp.sign({ ...claims, ...change }, { alg: "RS256", kid: "first" }, idp.privateKey);
  idp.tampers.set("/token", async (body) => ({ ...body, id_token: await sign(decodeJwt(String(body.id_token))) }));
  idp.tampers.set("/me", (body) => ({ ...body, ...change }));
  try {
    return reasonOf(await loginFlow(cluster, tenant.orgId));
  } finally {
    idp.tampers.clear();
  }
}

describe("a provider's text that cannot be stored", () => {
  const harmless = [
    (text: string) => ({ name: text }),
    (text: string) => ({ name: undefined, given_name: text, family_name: text }),
    (text: string) => ({ groups: [text] }),
    (text: string) => ({ [text]: { [text]: [text, { deep: text }] } }),
  ];

  it.each(foreignTexts.map((text) => [JSON.stringify(text), text]))(
    "%s is replaced where it tells about a user, and refused by name where it identifies one",
    async (_name, text) => {
      for (const change of harmless) expect([change(text), await endWith(change(text))]).toEqual([change(text), null]);
      expect(await endWith({ sub: text })).toBe("token_invalid");
      expect(await lastAttempt(tenant.admin.api, provider.id)).toMatchObject({
        step: "tokens",
        detail: expect.stringMatching(/`sub`: Must (not contain NUL characters|be well-formed Unicode)/),
      });
      expect(await endWith({ email: `${text}@sso.example` })).toBe("email_missing");
      expect(await lastAttempt(tenant.admin.api, provider.id)).toMatchObject({
        step: "claims",
        detail: expect.stringMatching(/^the claim "email" is no e-mail address: Must/),
      });
    },
  );

  it("is stored in the link's profile with U+FFFD in its place", async () => {
    expect(await endWith({ "key\0": ["value\ud83d"] })).toBeNull();
    const [row] = await asDatabaseOwner(
      cluster,
      "SELECT profile -> 'key\ufffd' AS held FROM identity.sso_identities WHERE provider_id = $1 ORDER BY created_at DESC LIMIT 1",
      [provider.id],
    );
    expect(row).toEqual({ held: ["value\ufffd"] });
  });

  it("is shown in the attempt when the provider reports an error with it", async () => {
    idp.become(newAccount());
    const { visitor, callback } = await upToAnswer(cluster, tenant.orgId);
    const url = new URL(callback);
    url.searchParams.set("code", "made-up");
    idp.tampers.set("/token", (body) => ({ ...body, error_description: "no\0thing" }));
    const visit = await visitor.get(url.href);
    idp.tampers.clear();
    expect(reasonOf(visit)).toBe("token_invalid");
    expect(await lastAttempt(tenant.admin.api, provider.id)).toMatchObject({
      id: new URL(visit.location ?? "").searchParams.get("attempt"),
      detail: expect.stringContaining("invalid_grant: no\ufffdthing"),
    });
  });
});
