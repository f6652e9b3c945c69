import { describe, expect, it } from "@jest/globals";
import { sending } from "./sending.ts";

const textOf = (at: Date) => at.toISOString().slice(11, 16);

describe("a webhook's deliveries", () => {
  it.each([
    ["are sent as events come", "active", "closed", null, "as events come", "off"],
    ["pause until an instant", "active", "open", "2026-01-01T10:42:00Z", "paused until 10:42", "bad"],
    ["go slowly after failures", "active", "recovering", null, "slowly, after failures", "warn"],
    ["pause while somebody paused them", "paused", "closed", null, "paused", "warn"],
    ["end when their webhook has failed", "failed", "open", null, "turned off after failures", "warn"],
  ] as const)("%s", (_promise, status, breaker, openUntil, word, tone) => {
    expect(sending({ status, breaker, openUntil }, textOf)).toEqual({ word, tone });
  });
});
