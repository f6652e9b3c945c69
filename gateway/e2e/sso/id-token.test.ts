import { beforeAll, describe, expect, it } from "@jest/globals";
import { type CryptoKey, decodeJwt, exportJWK, generateKeyPair, type JWTPayload } from "jose";
import { newAccount } from "../support/identity-provider.ts";
import { lastAttempt, loginFlow, reasonOf, upToAnswer } from "../support/login-flow.ts";
import { ownProvider } from "../support/own-provider.ts";

const { cluster, tenant, idp, provider } = ownProvider();

describe("an ID token", () => {
  type Change = (claims: JWTPayload) => Promise<string> | string;
  let other: CryptoKey;
  beforeAll(async () => {
    other = (await generateKeyPair("RS256", { extractable: true })).privateKey;
  });
  const header = { alg: "RS256", kid: "first" };
  const signedBy = (change: JWTPayload) => (claims: JWTPayload) =>
    idp.sign({ ...claims, ...change }, header, idp.privateKey);
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const now = () => Math.floor(Date.now() / 1_000);

  const endWith = async (change: Change) => {
    idp.become(newAccount());
    idp.tampers.set("/token", async (body) => ({ ...body, id_token: await change(decodeJwt(String(body.id_token))) }));
    try {
      return reasonOf(await loginFlow(cluster, tenant.orgId));
    } finally {
      idp.tampers.delete("/token");
    }
  };

  // First: an unknown key id is looked up once a minute.
  it("signed by a new key is accepted as soon as the provider publishes it", async () => {
    const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid: "second", alg: "RS256", use: "sig" };
    idp.tampers.set("/jwks", (body) => ({ keys: [...(body.keys as object[]), jwk] }));
    expect(await endWith((claims) => idp.sign(claims, { alg: "RS256", kid: "second" }, privateKey))).toBeNull();
    idp.tampers.delete("/jwks");
  });

  it("is accepted when the provider signed it again unchanged: the attacks below fail due to their change", async () => {
    expect(await endWith((claims) => idp.sign(claims, header, idp.privateKey))).toBeNull();
  });

  it.each<[string, Change]>([
    ["of another key", (claims) => idp.sign(claims, header, other)],
    [
      "of another key that it brings itself",
      async (claims) => idp.sign(claims, { ...header, jwk: await exportJWK(other) }, other),
    ],
    [
      "of another key behind a URL",
      (claims) => idp.sign(claims, { ...header, jku: "https://evil.example.com/keys" }, other),
    ],
    ["of an unknown key id", (claims) => idp.sign(claims, { ...header, kid: "unknown" }, other)],
    ["without a signature", (claims) => `${encode({ alg: "none" })}.${encode(claims)}.`],
    ["under the client secret", (claims) => idp.sign(claims, { alg: "HS256" }, Buffer.from(idp.secret))],
    [
      "under the public key as a secret",
      async (claims) =>
        idp.sign(claims, { alg: "HS256", kid: "first" }, Buffer.from(JSON.stringify(await exportJWK(idp.privateKey)))),
    ],
    [
      "whose claims were changed",
      async (claims) => {
        const [head, , signature] = (await idp.sign(claims, header, idp.privateKey)).split(".");
        return `${head}.${encode({ ...claims, sub: "somebody-else" })}.${signature}`;
      },
    ],
    ["that is no token", () => "nothing"],
    ["of another sign-in", signedBy({ nonce: "another" })],
    ["of no sign-in", signedBy({ nonce: undefined })],
    ["for another client", signedBy({ aud: "another" })],
    ["for several without saying whose", signedBy({ aud: ["muster-0", "another"] })],
    ["for several, another's", signedBy({ aud: ["muster-0", "another"], azp: "another" })],
    ["of another issuer", signedBy({ iss: "https://evil.example.com" })],
    ["that has expired", (claims) => signedBy({ exp: now() - 60, iat: now() - 120 })(claims)],
    ["that never expires", signedBy({ exp: undefined })],
    ["from the future", (claims) => signedBy({ iat: now() + 600, exp: now() + 1_200 })(claims)],
    ["without a subject", signedBy({ sub: undefined })],
    ["of an endless subject", signedBy({ sub: "x".repeat(256) })],
    ["of another subject than the user info", signedBy({ sub: "somebody-else" })],
  ])("%s is refused", async (_case, change) => {
    expect(await endWith(change)).toBe("token_invalid");
  });

  it.each([
    ["issuer", { iss: "https://evil.example.com" }, '"https://evil.example.com", expected "https://'],
    ["audience", { aud: "another" }, '"another", expected "muster-0"'],
  ])("for another %s is named in the attempt", async (_case, claims, found) => {
    await endWith(signedBy(claims));
    const { detail } = await lastAttempt(tenant.admin.api, provider.id);
    expect(detail).toContain(found);
  });

  it("from another provider's callback is refused", async () => {
    idp.become(newAccount());
    for (const iss of ["https://evil.example.com", ""]) {
      const { visitor, callback } = await upToAnswer(cluster, tenant.orgId);
      const url = new URL(callback);
      url.searchParams.set("iss", iss);
      expect(reasonOf(await visitor.get(url.href))).toBe("token_invalid");
      expect(await lastAttempt(tenant.admin.api, provider.id)).toMatchObject({
        step: "iss",
        detail:
          iss === ""
            ? expect.stringContaining("names no issuer")
            : `the callback names another issuer: "${iss}", expected "${idp.issuer}"`,
      });
    }
  });

  it("for another sign-in's code is refused: its verifier is in another login flow", async () => {
    idp.become(newAccount());
    const [mine, other] = [await upToAnswer(cluster, tenant.orgId), await upToAnswer(cluster, tenant.orgId)];
    const url = new URL(mine.callback);
    url.searchParams.set("code", new URL(other.callback).searchParams.get("code") ?? "");
    expect(reasonOf(await mine.visitor.get(url.href))).toBe("token_invalid");
    expect(await lastAttempt(tenant.admin.api, provider.id)).toMatchObject({ step: "tokens", reason: "token_invalid" });
  });

  it("for a redeemed or invented code is refused", async () => {
    idp.become(newAccount());
    const first = await upToAnswer(cluster, tenant.orgId);
    expect(reasonOf(await first.visitor.get(first.callback))).toBeNull();
    for (const code of [new URL(first.callback).searchParams.get("code") ?? "", "made-up"]) {
      const { visitor, callback } = await upToAnswer(cluster, tenant.orgId);
      const url = new URL(callback);
      url.searchParams.set("code", code);
      expect(reasonOf(await visitor.get(url.href))).toBe("token_invalid");
    }
  });
});
