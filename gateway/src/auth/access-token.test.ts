import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { AppError, createLogger } from "@muster/kit";
import { exportJWK, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { type AccessToken, createAccessTokens } from "./access-token.ts";
import { createKeySet } from "./key-set.ts";

const userId = "018f0000-0000-7000-8000-000000000001";
const sessionId = "018f0000-0000-7000-8000-000000000002";
const log = createLogger("test", "fatal");

let pair: { publicKey: KeyObject; privateKey: KeyObject };
let other: { publicKey: KeyObject; privateKey: KeyObject };
let jwks: string;

const jwksOf = async (...keys: [string, KeyObject][]) =>
  JSON.stringify({
    keys: await Promise.all(
      keys.map(async ([kid, key]) => ({ ...(await exportJWK(key)), kid, alg: "ES256", use: "sig" })),
    ),
  });

beforeAll(async () => {
  pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  other = generateKeyPairSync("ec", { namedCurve: "P-256" });
  jwks = await jwksOf(["k1", pair.publicKey]);
});

type Change = { header?: object; claims?: JWTPayload; key?: KeyObject; drop?: string };

function issue({ header = {}, claims = {}, key = pair.privateKey, drop }: Change = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const all: Record<string, unknown> = {
    iss: "muster",
    aud: "muster-api",
    sub: userId,
    sid: sessionId,
    ver: 3,
    exp: now + 900,
    ...claims,
  };
  if (drop) delete all[drop];
  return new SignJWT(all).setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: "k1", ...header }).sign(key);
}

function verifier(load: () => Promise<string> = () => Promise.resolve(jwks)) {
  let nowMs = Date.now();
  let readings = 0;
  const keys = createKeySet({
    load: () => {
      readings += 1;
      return load();
    },
    log,
    nowMs: () => nowMs,
  });
  void keys.close();
  const tokens = createAccessTokens({ keys, max: 10, now: () => nowMs });
  return {
    tokens,
    verify: async (token: string): Promise<AccessToken | string> => {
      try {
        return await tokens.verify(token);
      } catch (error) {
        return error instanceof AppError ? error.code : String(error);
      }
    },
    readings: () => readings,
    move: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe("an access token", () => {
  it("identifies its user and session", async () => {
    const { verify } = verifier();
    expect(await verify(await issue())).toMatchObject({ userId, sessionId, userVersion: 3 });
  });

  it("is verified once and then cached", async () => {
    const { tokens, verify } = verifier();
    const token = await issue();
    await verify(token);
    expect(tokens.verify(token)).not.toBeInstanceOf(Promise);
    expect(tokens.size).toBe(1);
  });

  it.each<[string, Change]>([
    ["another issuer", { claims: { iss: "else" } }],
    ["another audience", { claims: { aud: "muster-internal" } }],
    ["another type", { header: { typ: "JWT" } }],
    ["another key under the same name", { key: undefined as never }],
    ["no session", { drop: "sid" }],
    ["no user", { drop: "sub" }],
    ["no version", { drop: "ver" }],
    ["no end", { drop: "exp" }],
    ["a session that is no id", { claims: { sid: "x" } }],
    ["a user that is no id", { claims: { sub: "x" } }],
    ["a version that is no number", { claims: { ver: "1" } }],
  ])("is refused with %s", async (what, change) => {
    const { verify } = verifier();
    const key = what.startsWith("another key") ? other.privateKey : pair.privateKey;
    expect(await verify(await issue({ ...change, key }))).toBe("unauthenticated");
  });

  it("is refused when it is unsigned, truncated, modified or not a token", async () => {
    const { verify } = verifier();
    const token = await issue();
    const [head = "", , signature = ""] = token.split(".");
    const changed = Buffer.from(JSON.stringify({ sub: userId, sid: sessionId })).toString("base64url");
    const unsigned = new UnsecuredJWT({ sub: userId, sid: sessionId, ver: 1 }).setExpirationTime("1h").encode();
    for (const bad of [
      unsigned,
      token.slice(0, -3),
      `${head}.${changed}.${signature}`,
      "a.b.c",
      "nonsense",
      "x".repeat(5_000),
    ]) {
      expect(await verify(bad)).toBe("unauthenticated");
    }
  });

  it("is refused as expired from the second it ends, cached or not", async () => {
    const { verify, move } = verifier();
    const token = await issue();
    await verify(token);
    move(901_000);
    expect(await verify(token)).toBe("token_expired");
    expect(await verify(token)).toBe("token_expired");
  });
});

describe("public keys", () => {
  it("invalidate, once removed, the tokens they signed, cached tokens included", async () => {
    let served = await jwksOf(["k1", pair.publicKey], ["k2", other.publicKey]);
    const { verify, move } = verifier(() => Promise.resolve(served));
    const old = await issue();
    const next = await issue({ header: { kid: "k2" }, key: other.privateKey });
    expect([await verify(old), await verify(next)]).toEqual([expect.anything(), expect.objectContaining({ userId })]);
    served = await jwksOf(["k2", other.publicKey]);
    expect(await verify(old)).toMatchObject({ userId });
    move(6_000);
    await verify(await issue({ header: { kid: "k3" } }));
    expect([await verify(old), await verify(next)]).toEqual(["unauthenticated", expect.objectContaining({ userId })]);
  });

  it("are read again for an unknown kid, at most once in 5 s", async () => {
    let served = jwks;
    const { verify, readings, move } = verifier(() => Promise.resolve(served));
    await verify(await issue());
    const next = await issue({ header: { kid: "k2" }, key: other.privateKey });
    served = await jwksOf(["k1", pair.publicKey], ["k2", other.publicKey]);
    expect(await verify(next)).toBe("unauthenticated");
    expect(readings()).toBe(1);
    move(5_000);
    expect(await verify(next)).toMatchObject({ userId });
    expect(readings()).toBe(2);
    for (let i = 0; i < 20; i++) await verify(await issue({ header: { kid: `x${i}` } }));
    expect(readings()).toBe(2);
  });

  it("answer unavailable, not unauthenticated, when they cannot be loaded", async () => {
    const { verify } = verifier(() => Promise.reject(new AppError("unavailable", "away")));
    expect(await verify(await issue())).toBe("unavailable");
  });
});
