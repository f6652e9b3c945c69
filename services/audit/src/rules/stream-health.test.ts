import { describe, expect, it } from "@jest/globals";
import { type StreamFacts, streamHealth } from "./stream-health.ts";

const since = new Date("2026-01-31T12:00:00Z");
const healthy: StreamFacts = { status: "active", failures: 0, failing_since: null, last_error: null, lag_seconds: 0 };

describe("the health of a stream", () => {
  it.each<[string, Partial<StreamFacts>, string, string]>([
    ["healthy", {}, "healthy", "No recent attempt failed."],
    ["healthy while paused", { status: "paused", failures: 3, lag_seconds: 9_000 }, "healthy", "Paused by its users."],
    ["slow with old rows", { lag_seconds: 300.4 }, "slow", "Its oldest row was not accepted for 300 s."],
    ["healthy just before", { lag_seconds: 299 }, "healthy", "No recent attempt failed."],
    [
      "failing at the first failure",
      { failures: 1, failing_since: since, last_error: "answered 503" },
      "failing",
      "1 attempt failed since 2026-01-31T12:00:00.000Z. The last error: answered 503",
    ],
    ["unreachable after eight", { failures: 8 }, "unreachable", "8 attempts in a row failed."],
    ["unreachable when marked failed", { status: "failed" }, "unreachable", "Marked failed: nothing is sent."],
  ])("is %s", (_what, facts, status, reason) => {
    expect(streamHealth({ ...healthy, ...facts })).toEqual({ status, reason });
  });
});
