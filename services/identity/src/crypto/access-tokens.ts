import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { exportJWK, SignJWT } from "jose";

export type AccessTokens = {
  /** ES256 JWT (RFC 9068, typ at+jwt) for one session. */
  issue(
    claims: { userId: string; sessionId: string; userVersion: number; mfaAt: Date | null },
    now: Date,
  ): Promise<string>;
  /** Public keys of all configured private keys, as JWKS text. */
  jwksJson(): Promise<string>;
  ttlSeconds: number;
};

export const issuer = "muster";
export const audience = "muster-api";

/** `keys` is `kid:base64 PKCS#8[,…]` of P-256 keys: the first signs, all are published. */
export function accessTokens(keys: string, ttlSeconds: number): AccessTokens {
  const ring = keys.split(",").map((entry) => {
    const separator = entry.indexOf(":");
    const kid = entry.slice(0, separator).trim();
    const key = readKey(entry.slice(separator + 1).trim());
    if (kid === "" || key.asymmetricKeyDetails?.namedCurve !== "prime256v1") {
      throw new Error("JWT_PRIVATE_KEYS: each entry is kid:base64 of a P-256 PKCS#8 key");
    }
    return { kid, key };
  });
  const [first] = ring;
  if (!first) throw new Error("JWT_PRIVATE_KEYS: at least one key is needed");
  return {
    ttlSeconds,
    issue({ userId, sessionId, userVersion, mfaAt }, now) {
      const issuedAt = Math.floor(now.getTime() / 1000);
      return new SignJWT({
        sid: sessionId,
        ver: userVersion,
        ...(mfaAt ? { mfa_time: Math.floor(mfaAt.getTime() / 1000) } : {}),
      })
        .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: first.kid })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(userId)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + ttlSeconds)
        .sign(first.key);
    },
    async jwksJson() {
      const jwks = await Promise.all(
        ring.map(async ({ kid, key }) => ({
          ...(await exportJWK(createPublicKey(key))),
          kid,
          alg: "ES256",
          use: "sig",
        })),
      );
      return JSON.stringify({ keys: jwks });
    },
  };
}

function readKey(base64: string): KeyObject {
  return createPrivateKey({ key: Buffer.from(base64, "base64"), format: "der", type: "pkcs8" });
}
