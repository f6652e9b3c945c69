import { createHash, randomBytes } from "node:crypto";

export type OpaqueToken = { token: string; hash: Buffer };

/** 256 random bits as base64url behind a prefix that names its kind, and the SHA-256 that is stored in its place. */
export function newToken(prefix: "dev_" | "inv_" | "mfa_" | "pwr_" | "scim_" | "ptc_" | "ptl_"): OpaqueToken {
  const token = prefix + randomBytes(32).toString("base64url");
  return { token, hash: tokenHash(token) };
}

/** What a token is looked up by: never compared as a string. */
export function tokenHash(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
