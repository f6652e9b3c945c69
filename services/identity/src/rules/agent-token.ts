import { createHash, randomBytes } from "node:crypto";

export type AgentTokenMaterial = { token: string; digest: Buffer };

/** A new agent token: `agt_` and 256 random bits as base64url. Stored as its SHA-256. */
export function newAgentToken(): AgentTokenMaterial {
  const token = `agt_${randomBytes(32).toString("base64url")}`;
  return { token, digest: agentTokenDigest(token) };
}

/** What a token is looked up by: no secret is ever compared as a string. */
export function agentTokenDigest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
