import { randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { checkRefresh, graceMs, isGenuine, parseRefreshToken, refreshToken } from "./refresh-token.ts";

const secret = randomBytes(32);
const sessionId = uuidv7();

describe("refresh tokens", () => {
  it("derives the same token again from session, generation and secret", () => {
    expect(refreshToken(sessionId, 7, secret)).toBe(refreshToken(sessionId, 7, secret));
    expect(refreshToken(sessionId, 8, secret)).not.toBe(refreshToken(sessionId, 7, secret));
  });

  it("reads back what it made and proves it genuine", () => {
    const parsed = parseRefreshToken(refreshToken(sessionId, 4_000_000_000, secret));
    expect(parsed).toMatchObject({ sessionId, generation: 4_000_000_000 });
    expect(parsed && isGenuine(parsed, secret)).toBe(true);
    expect(parsed && isGenuine(parsed, randomBytes(32))).toBe(false);
  });

  it.each(["", "rt_", "rt_!!!!", "at_abc", `rt_${"A".repeat(69)}`, `rt_${"A".repeat(71)}`, "rt_ä"])(
    "takes %j for no token",
    (text) => {
      expect(parseRefreshToken(text)).toBeNull();
    },
  );

  it("does not accept a token whose generation was edited", () => {
    const bytes = Buffer.from(refreshToken(sessionId, 1, secret).slice(3), "base64url");
    bytes.writeUInt32BE(2, 16);
    const parsed = parseRefreshToken(`rt_${bytes.toString("base64url")}`);
    expect(parsed && isGenuine(parsed, secret)).toBe(false);
  });
});

describe("the outcome of a refresh token", () => {
  const now = new Date("2026-05-01T12:00:00Z");
  const ago = (ms: number) => new Date(now.getTime() - ms);
  const session = {
    generation: 5,
    rotatedAt: ago(1_000),
    idleExpiresAt: new Date("2026-05-08T00:00:00Z"),
    expiresAt: new Date("2026-05-30T00:00:00Z"),
    revokedAt: null as Date | null,
  };

  it.each([
    ["the current one rotates", 5, {}, "rotate"],
    ["the one before answers again inside the grace", 4, {}, "repeat"],
    ["the one before answers again at the grace's end", 4, { rotatedAt: ago(graceMs) }, "repeat"],
    ["the one before is reuse after the grace", 4, { rotatedAt: ago(graceMs + 1) }, "reuse"],
    ["an older one is reuse", 3, {}, "reuse"],
    ["one from the future is reuse", 6, {}, "reuse"],
    ["a revoked family has ended", 5, { revokedAt: ago(1) }, "ended"],
    ["an idle family has ended", 5, { idleExpiresAt: now }, "ended"],
    ["a family past its absolute end has ended", 5, { expiresAt: now }, "ended"],
  ] as const)("%s", (_name, generation, change, verdict) => {
    expect(checkRefresh({ generation }, { ...session, ...change }, now)).toBe(verdict);
  });
});
