import { describe, expect, it } from "@jest/globals";
import { changedPolicy, defaultPolicy, inForce, type RetentionPolicy } from "./retention.ts";

const now = new Date("2026-03-28T12:00:00Z");
const later = (hours: number) => new Date(now.getTime() + hours * 3_600_000);
const change = (retentionDays: number | null, archiveToS3: boolean | null = null) => ({ retentionDays, archiveToS3 });
const policy = (change: Partial<RetentionPolicy>): RetentionPolicy => ({ ...defaultPolicy, ...change });

describe("a change of the retention", () => {
  it.each([
    ["longer: at once", policy({}), change(400), policy({ retentionDays: 400 })],
    ["the same: nothing waits", policy({}), change(365), policy({})],
    ["shorter: after 24 hours", policy({}), change(30), policy({ pending: { retentionDays: 30, from: later(24) } })],
    [
      "the same shorter one again: the wait does not start over",
      policy({ pending: { retentionDays: 30, from: later(1) } }),
      change(30),
      policy({ pending: { retentionDays: 30, from: later(1) } }),
    ],
    [
      "another shorter one: the wait starts over",
      policy({ pending: { retentionDays: 30, from: later(1) } }),
      change(20),
      policy({ pending: { retentionDays: 20, from: later(24) } }),
    ],
    [
      "what is in force now: takes back what waits",
      policy({ pending: { retentionDays: 30, from: later(1) } }),
      change(365),
      policy({}),
    ],
    ["archive alone", policy({}), change(null, true), policy({ archiveToS3: true })],
    [
      "archive alone leaves waiting what waits",
      policy({ pending: { retentionDays: 30, from: later(1) } }),
      change(null, true),
      policy({ archiveToS3: true, pending: { retentionDays: 30, from: later(1) } }),
    ],
    [
      "after what waited took effect: measured against that",
      policy({ pending: { retentionDays: 30, from: later(-1) } }),
      change(60),
      policy({ retentionDays: 60 }),
    ],
  ] as const)("%s", (_name, before, requested, after) => {
    expect(changedPolicy(before, requested, now)).toEqual(after);
  });

  it.each([0, -1, 3_651, 1.5, Number.NaN])("refuses %p days", (days) => {
    expect(() => changedPolicy(defaultPolicy, change(days), now)).toThrow("Validation failed");
  });

  it("refuses a change of nothing", () => {
    expect(() => changedPolicy(defaultPolicy, change(null), now)).toThrow("No updates provided");
  });
});

it("a shorter retention is in force at its time and not before", () => {
  const waiting = policy({ pending: { retentionDays: 30, from: later(24) } });
  expect(inForce(waiting, later(23.99))).toEqual(waiting);
  expect(inForce(waiting, later(24))).toEqual(policy({ retentionDays: 30 }));
});
