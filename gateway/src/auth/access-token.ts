import { hash } from "node:crypto";
import { AppError, gauge, isUuid } from "@muster/kit";
import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { type KeySet, keysUnavailable } from "./key-set.ts";
import { lru } from "./lru.ts";

export const tokenIssuer = "muster";
export const tokenAudience = "muster-api";

/** The claims of an access token whose signature has been verified. */
export type AccessToken = { userId: string; sessionId: string; userVersion: number; expiresAtMs: number };

export type AccessTokens = {
  /**
   * Verifies an ES256 `at+jwt` (RFC 9068) once and caches it by its SHA-256 until it expires. Throws AppError
   * `unauthenticated`, `token_expired`, or `unavailable` while no public key could be loaded.
   */
  verify(token: string): AccessToken | Promise<AccessToken>;
  /** Tokens cached. */
  readonly size: number;
};

const entriesGauge = gauge(
  "muster_gateway_access_token_cache_entries",
  "Verified access tokens cached by this gateway.",
);

/** Longer than any token that identity issues; longer ones are refused unread. */
const maxTokenCharacters = 4_096;

export function createAccessTokens(options: { keys: KeySet; max: number; now?: () => number }): AccessTokens {
  const { keys, max, now = Date.now } = options;
  const cached = lru<AccessToken>(max);
  let readings = 0;
  // A removed key must not stay valid through the cached tokens that it signed.
  keys.onChange(() => {
    readings += 1;
    cached.clear();
  });

  const check = async (token: string, digest: string): Promise<AccessToken> => {
    const readingsBefore = readings;
    const payload = await verifySignature(token, keys, new Date(now()));
    const { sub, sid, ver, exp } = payload;
    if (typeof sub !== "string" || typeof sid !== "string" || !isUuid(sub) || !isUuid(sid)) throw invalid();
    if (typeof ver !== "number" || !Number.isSafeInteger(ver) || exp === undefined) throw invalid();
    const found = { userId: sub, sessionId: sid, userVersion: ver, expiresAtMs: exp * 1000 };
    if (readingsBefore === readings) cached.set(digest, found);
    entriesGauge.set(cached.size);
    return found;
  };

  return {
    verify(token) {
      if (token.length > maxTokenCharacters) throw invalid();
      const digest = hash("sha256", token, "base64");
      const found = cached.get(digest);
      if (found === undefined) return check(token, digest);
      if (found.expiresAtMs > now()) return found;
      cached.delete(digest);
      throw expired();
    },
    get size() {
      return cached.size;
    },
  };
}

async function verifySignature(token: string, keys: KeySet, currentDate: Date): Promise<JWTPayload> {
  const { getKey } = await keys.current().catch((cause: unknown) => {
    throw keysUnavailable(cause);
  });
  try {
    return await verifyWith(token, getKey, currentDate);
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw refusal(error);
    // The signing key is either newer than the cached key set or unknown: one reload of the key set decides.
    const fresh = await keys.refreshed().catch((cause: unknown) => {
      throw keysUnavailable(cause);
    });
    if (fresh === null) throw refusal(error);
    return verifyWith(token, fresh.getKey, currentDate).catch((again: unknown) => {
      throw refusal(again);
    });
  }
}

async function verifyWith(token: string, getKey: JWTVerifyGetKey, currentDate: Date): Promise<JWTPayload> {
  const { payload } = await jwtVerify(token, getKey, {
    algorithms: ["ES256"],
    typ: "at+jwt",
    issuer: tokenIssuer,
    audience: tokenAudience,
    requiredClaims: ["sub", "sid", "ver", "exp"],
    currentDate,
  });
  return payload;
}

/** Anything but a JOSE error is a failure of the gateway and stays one. */
function refusal(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return expired();
  return error instanceof errors.JOSEError ? invalid(error) : error;
}

function invalid(cause?: unknown): AppError {
  return new AppError("unauthenticated", "Session token is invalid", cause === undefined ? {} : { cause });
}

function expired(): AppError {
  return new AppError("token_expired", "Session token is expired");
}
