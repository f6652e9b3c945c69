import { describe, expect, it } from "@jest/globals";
import { directoryHealth } from "./directory-health.ts";

type Facts = Parameters<typeof directoryHealth>[0];
const startedAt = "2026-01-31T12:00:00.000Z";
const cycle = (requests: number, refused: number) => ({
  ...{ startedAt, lastAt: startedAt, requests, refused },
  ...{ created: 0, changed: 0, deleted: 0 },
});
const token = { id: "t", prefix: "scim_", createdAt: startedAt, expiresAt: null };
const healthy: Facts = { status: "active", tokens: [token], last_cycle: cycle(10, 4), roles_pending: 0 };

describe("the health of a directory", () => {
  it.each<[string, Partial<Facts>, string, string]>([
    ["healthy while most is accepted", {}, "healthy", "accepted"],
    ["healthy before its first request", { last_cycle: null, tokens: [] }, "healthy", "no request yet"],
    ["healthy while paused", { status: "paused", tokens: [] }, "healthy", "Paused"],
    ["unreachable without a token", { tokens: [] }, "unreachable", "no valid token"],
    ["failing when half is refused", { last_cycle: cycle(10, 5) }, "failing", `5 of 10 requests since ${startedAt}`],
    ["slow while roles wait", { roles_pending: 7 }, "slow", "7 users wait"],
  ])("is %s", (_what, facts, status, reason) => {
    expect(directoryHealth({ ...healthy, ...facts })).toEqual({ status, reason: expect.stringContaining(reason) });
  });
});
