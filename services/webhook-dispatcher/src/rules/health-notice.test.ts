import { describe, expect, it } from "@jest/globals";
import type { Health } from "@muster/kit";
import { changeLine, dueReminder, reminderLine } from "./health-notice.ts";

const now = new Date("2026-01-10T00:00:00Z");
const ago = (hours: number) => new Date(now.getTime() - hours * 3_600_000);
const failing: Health = { status: "failing", reason: "7 attempts in a row failed." };

describe("a reminder of a webhook that fails", () => {
  it.each<[string, number | null, number, number | null, number | null]>([
    ["not within the first hour", 0.9, 0, null, null],
    ["after an hour", 1, 0, null, 1],
    ["once for each time", 5, 1, 5, null],
    ["after a day", 24, 1, 24, 24],
    ["after three days", 80, 24, 80, 72],
    ["not after the last one", 500, 72, 500, null],
    ["again when it fails anew", 2, 72, 500, 1],
    ["of the longest time alone, when several are due", 100, 0, null, 72],
    ["never without a failure", null, 0, null, null],
  ])("is due %s", (_, since, hours, remindedSince, due) => {
    const reminded = {
      failing_since: since === null ? null : ago(since),
      reminded_hours: hours,
      reminded_since: remindedSince === null ? null : ago(remindedSince),
    };
    expect(dueReminder(reminded, failing, now)).toBe(due);
    expect(dueReminder(reminded, { ...failing, status: "unreachable" }, now)).toBe(due);
    expect(dueReminder(reminded, { ...failing, status: "slow" }, now)).toBeNull();
  });

  it("says for how long and why, within the length of a line", () => {
    expect(reminderLine("Orders", 24, failing)).toBe(
      'Webhook "Orders" has had no success for 24 hours: 7 attempts in a row failed.',
    );
    expect(changeLine("Orders", failing, "healthy")).toBe(
      'Webhook "Orders" is failing, was healthy: 7 attempts in a row failed.',
    );
    expect(changeLine("x".repeat(600), failing, "healthy")).toHaveLength(500);
  });
});
