import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { createServer as createTcp } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createResolver, type Egress, openEgress, parseExceptions } from "@muster/egress";
import { listening, testCaFile, testCertificate } from "@muster/testing";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { discover } from "./discovery.ts";
import { keySets } from "./key-sets.ts";
import { redeem } from "./oidc.ts";
import { fetchMetadata } from "./saml-metadata.ts";

// A name server of an attacker: public when the address is checked, this machine when it is dialled.
const rebinding = "rebind.example.com";
const issuerHost = "idp.example.test";

let closing: (() => Promise<unknown>)[] = [];
let port: number;
let connected: number;
let lookups: string[];
beforeEach(async () => {
  [connected, lookups] = [0, []];
  // Whatever would be behind the name inside the building.
  const inside = await listening(
    createTcp((socket) => {
      connected += 1;
      socket.destroy();
    }),
  );
  port = inside.port;
  closing.push(inside.close);
});
afterEach(async () => {
  for (const close of closing.reverse()) await close();
  closing = [];
});

/** Answers of the name server, in turn, the last one repeated; each look-up queries the server. */
function egressTo(answers: readonly string[], exceptions = ""): Egress {
  let clockMs = 0;
  const resolver = createResolver(
    async (name) => {
      lookups.push(name);
      return { addresses: [answers[Math.min(lookups.length, answers.length) - 1] as string], ttlSeconds: 0 };
    },
    () => (clockMs += 60_000),
  );
  const ca = readFileSync(testCaFile, "utf8");
  const egress = openEgress({ profile: "sso", resolver, ca, exceptions: parseExceptions(exceptions, "test") });
  closing.push(() => egress.close());
  return egress;
}

const turned = ["93.184.215.14", "127.0.0.1"];
const private_ = ["127.0.0.1"];
const address = (path: string) => `https://${rebinding}:${port}${path}`;

describe("a host name of an identity provider that resolves to a private address after the check", () => {
  it("is not dialled for the discovery document", async () => {
    await expect(discover(egressTo(turned), address(""))).rejects.toMatchObject({
      code: "sso_discovery_failed",
      facts: { step: "fetch" },
    });
    expect([connected, lookups]).toEqual([0, [rebinding, rebinding]]);
  });

  it("is not dialled for SAML metadata", async () => {
    await expect(fetchMetadata(egressTo(turned), address("/metadata"))).rejects.toMatchObject({
      code: "sso_discovery_failed",
      facts: { step: "fetch" },
    });
    expect([connected, lookups]).toEqual([0, [rebinding, rebinding]]);
  });

  it.each(["token", "keys", "userinfo"] as const)("is not dialled for the %s endpoint of a callback", async (which) => {
    const idp = await realProvider();
    const egress = egressTo(turned, `${issuerHost}:${idp.port}=127.0.0.1`);
    const endpoints = { ...idp.endpoints, [`${which}Url`]: address(`/${which}`) };
    const provider = {
      id: "p",
      generation: 1,
      issuer: idp.issuer,
      clientId: "muster",
      clientSecret: "secret",
      scopes: "openid",
      endpoints: {
        authorizationUrl: `${idp.issuer}/auth`,
        tokenUrl: endpoints.tokenUrl,
        userInfoUrl: endpoints.userinfoUrl,
        jwksUrl: endpoints.keysUrl,
        tokenAuthMethods: ["client_secret_basic"],
        signingAlgorithms: ["ES256"],
        sendsIss: false,
      },
    };
    const redeemed = redeem(
      { egress, keys: keySets({ max: 10 }) },
      provider,
      { state: "state", code: "code", iss: "" },
      { redirectUri: "https://muster.example/callback", secrets: { nonce: "nonce", verifier: "v".repeat(43) } },
    );
    await expect(redeemed).rejects.toMatchObject({ step: "tokens", reason: "token_invalid" });
    expect([connected, new Set(lookups)]).toEqual([0, new Set([rebinding])]);
  });

  it("is refused without a connection when it is private at the check already", async () => {
    for (const attempt of [discover(egressTo(private_), address("")), fetchMetadata(egressTo(private_), address(""))]) {
      await expect(attempt).rejects.toMatchObject({ code: "sso_discovery_failed", facts: { step: "fetch" } });
    }
    expect(connected).toBe(0);
  });

  it("is refused as an endpoint that a discovery document names", async () => {
    const idp = await realProvider({ jwks_uri: address("/keys") });
    const egress = egressTo(private_, `${issuerHost}:${idp.port}=127.0.0.1`);
    await expect(discover(egress, idp.issuer)).rejects.toMatchObject({ facts: { step: "endpoints" } });
    expect(connected).toBe(0);
  });
});

it("control: a real provider's callback succeeds, so the refusals above are due to the name alone", async () => {
  const idp = await realProvider();
  const egress = egressTo(private_, `${issuerHost}:${idp.port}=127.0.0.1`);
  const found = await discover(egress, idp.issuer);
  const provider = { id: "p", generation: 1, issuer: idp.issuer, clientId: "muster", clientSecret: "secret" };
  const answer = await redeem(
    { egress, keys: keySets({ max: 10 }) },
    { ...provider, scopes: "openid", endpoints: found },
    { state: "state", code: "code", iss: "" },
    { redirectUri: "https://muster.example/callback", secrets: { nonce: "nonce", verifier: "v".repeat(43) } },
  );
  expect([answer.sub, lookups]).toEqual(["ada", []]);
});

/** A provider at a name that tests may reach; its document names its own endpoints, except for `change`. */
async function realProvider(change: Record<string, string> = {}) {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const jwk = { ...(await exportJWK(publicKey)), kid: "k", alg: "ES256", use: "sig" };
  let issuer = "";
  const answers: Record<string, () => Promise<object> | object> = {
    "/.well-known/openid-configuration": () => ({
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/keys`,
      id_token_signing_alg_values_supported: ["ES256"],
      ...change,
    }),
    "/token": async () => ({
      access_token: "access",
      token_type: "Bearer",
      id_token: await new SignJWT({ nonce: "nonce" })
        .setProtectedHeader({ alg: "ES256", kid: "k" })
        .setIssuer(issuer)
        .setAudience("muster")
        .setSubject("ada")
        .setIssuedAt()
        .setExpirationTime("5m")
        .sign(privateKey),
    }),
    "/keys": () => ({ keys: [jwk] }),
    "/userinfo": () => ({ sub: "ada" }),
  };
  const server = createServer(testCertificate(), (request, response) => {
    const send = async () => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(await answers[request.url ?? ""]?.()));
    };
    send().catch((error: unknown) => response.destroy(error as Error));
  });
  const { port: at, close } = await listening(server);
  closing.push(close);
  issuer = `https://${issuerHost}:${at}`;
  const endpoints = { tokenUrl: `${issuer}/token`, keysUrl: `${issuer}/keys`, userinfoUrl: `${issuer}/userinfo` };
  return { issuer, port: at, endpoints };
}
