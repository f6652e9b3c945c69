import { describe, expect, it } from "@jest/globals";
import { pollVerdict, type Waiting } from "./device-authorization.ts";

const now = new Date("2026-01-01T00:00:00Z");
const inMs = (ms: number) => new Date(now.getTime() + ms);
const pending: Waiting = { status: "pending", intervalSeconds: 5, polledAt: null, expiresAt: inMs(1) };

describe("the answer to a client that waits for its sign-in", () => {
  it.each<[string, Waiting | null, string, number]>([
    ["is unknown", null, "expired_token", 5],
    ["has expired", { ...pending, expiresAt: now }, "expired_token", 5],
    ["has expired after its approval", { ...pending, status: "approved", expiresAt: now }, "expired_token", 5],
    ["asks for the first time", pending, "authorization_pending", 5],
    ["asks after its interval", { ...pending, polledAt: inMs(-5_000) }, "authorization_pending", 5],
    ["asks a network's jitter early", { ...pending, polledAt: inMs(-4_600) }, "authorization_pending", 5],
    ["asks too early", { ...pending, polledAt: inMs(-4_000) }, "slow_down", 10],
    ["asks too early again", { ...pending, intervalSeconds: 10, polledAt: inMs(-5_000) }, "slow_down", 15],
    ["was approved", { ...pending, status: "approved", polledAt: inMs(-5_000) }, "complete", 5],
    ["was approved and asks too early", { ...pending, status: "approved", polledAt: inMs(-1) }, "slow_down", 10],
    ["was denied, however early it asks", { ...pending, status: "denied", polledAt: inMs(-1) }, "access_denied", 5],
  ])("gets its verdict when it %s", (_what, waiting, verdict, intervalSeconds) => {
    expect(pollVerdict(waiting, now)).toEqual({ verdict, intervalSeconds });
  });
});
