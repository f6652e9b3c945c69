import { createHmac, timingSafeEqual } from "node:crypto";

const prefix = "rt_";
const tokenBytes = 16 + 4 + 32;

export type RefreshToken = { sessionId: string; generation: number; proof: Buffer };

/**
 * Refresh token n of a family: `rt_` + base64url(session id ‖ n as 32 bits ‖ HMAC-SHA256(family secret, session id ‖
 * n)). Derived, never stored: the same successor can be returned again after a lost reply, and no second one is ever
 * created.
 */
export function refreshToken(sessionId: string, generation: number, familySecret: Buffer): string {
  const head = tokenHead(sessionId, generation);
  return prefix + Buffer.concat([head, proofOf(head, familySecret)]).toString("base64url");
}

/** The parts of a well-formed token, or null. Does not check whether it is genuine. */
export function parseRefreshToken(text: string): RefreshToken | null {
  if (!text.startsWith(prefix)) return null;
  const bytes = Buffer.from(text.slice(prefix.length), "base64url");
  if (bytes.length !== tokenBytes || prefix + bytes.toString("base64url") !== text) return null;
  const hex = bytes.toString("hex", 0, 16);
  const sessionId = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  return { sessionId, generation: bytes.readUInt32BE(16), proof: bytes.subarray(20) };
}

export function isGenuine(token: RefreshToken, familySecret: Buffer): boolean {
  return timingSafeEqual(token.proof, proofOf(tokenHead(token.sessionId, token.generation), familySecret));
}

export type RefreshVerdict = "rotate" | "repeat" | "reuse" | "ended";

/** Milliseconds in which the previous token still returns the same successor. */
export const graceMs = 20_000;

/** What a genuine token of generation n may do now. */
export function checkRefresh(
  token: { generation: number },
  session: { generation: number; rotatedAt: Date; idleExpiresAt: Date; expiresAt: Date; revokedAt: Date | null },
  now: Date,
): RefreshVerdict {
  if (session.revokedAt || session.idleExpiresAt <= now || session.expiresAt <= now) return "ended";
  if (token.generation === session.generation) return "rotate";
  const rotatedMsAgo = now.getTime() - session.rotatedAt.getTime();
  if (token.generation === session.generation - 1 && rotatedMsAgo <= graceMs) return "repeat";
  return "reuse";
}

function tokenHead(sessionId: string, generation: number): Buffer {
  const head = Buffer.alloc(20);
  head.write(sessionId.replaceAll("-", ""), "hex");
  head.writeUInt32BE(generation, 16);
  return head;
}

function proofOf(head: Buffer, familySecret: Buffer): Buffer {
  return createHmac("sha256", familySecret).update(head).digest();
}
