import { describe, expect, it } from "@jest/globals";
import { type HealthFacts, healthOf } from "./health.ts";

const now = new Date("2026-11-21T12:00:00Z");
const at = (seconds: number) => new Date(now.getTime() + seconds * 1_000);
const thresholds = { failingAttempts: 5, unreachableAttempts: 20, slowSeconds: 60 };
const well: HealthFacts = {
  status: "active",
  open_until: null,
  open_seconds: 0,
  failed_attempts: 0,
  failing_since: null,
  failed_reason: null,
  next_due_at: null,
};

describe("health", () => {
  it.each<[Partial<HealthFacts>, string, string]>([
    [{}, "healthy", "No recent attempt failed."],
    [{ failed_attempts: 1 }, "healthy", "Few attempts failed."],
    [{ failed_attempts: 4 }, "healthy", "Few attempts failed."],
    [
      { failed_attempts: 5, failing_since: at(-60) },
      "failing",
      "5 attempts in a row failed since 2026-11-21T11:59:00.000Z.",
    ],
    [{ failed_attempts: 20 }, "unreachable", "20 attempts in a row failed."],
    [
      { open_seconds: 30, open_until: at(1) },
      "unreachable",
      "Nearly all attempts of a minute failed: deliveries wait until 2026-11-21T12:00:01.000Z.",
    ],
    [
      { open_seconds: 30, open_until: at(1), failed_attempts: 5, failing_since: at(-60) },
      "unreachable",
      "5 attempts in a row failed since 2026-11-21T11:59:00.000Z: deliveries wait until 2026-11-21T12:00:01.000Z.",
    ],
    [
      { open_seconds: 30, open_until: at(-1) },
      "failing",
      "Nearly all attempts of a minute failed: it gets fewer concurrent requests until they succeed.",
    ],
    [{ next_due_at: at(-59) }, "healthy", "No recent attempt failed."],
    [{ next_due_at: at(-60) }, "slow", "Its oldest delivery has been due for 60 s."],
    [{ next_due_at: at(-60), failed_attempts: 5 }, "failing", "5 attempts in a row failed."],
    [{ next_due_at: at(-60), status: "disabled" }, "healthy", "No recent attempt failed."],
    [{ status: "error", failed_reason: "gone" }, "unreachable", "Marked failed: it answered 410 Gone."],
    [{ status: "error", failed_reason: "exhausted" }, "unreachable", "Marked failed: no attempt succeeded for days."],
  ])("%j: %s, %s", (change, status, reason) => {
    expect(healthOf({ ...well, ...change }, thresholds, now)).toEqual({ status, reason });
  });
});
