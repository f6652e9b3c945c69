import { describe, expect, it } from "@jest/globals";
import type { AppError } from "@muster/kit";
import { changedLimits, effectiveLimits, type LogLimits, noLimits } from "./log-limits.ts";

const platform = { rowsPerDay: 1_000, bytesPerDay: null, agentLogDays: 30, eventLogDays: 90 };
const own: LogLimits = { rowsPerDay: 5_000, bytesPerDay: 1, agentLogDays: 60, eventLogDays: 7 };

describe("an organization's limits", () => {
  it("are its own, else the platform's, and its retention is never longer", () => {
    expect(effectiveLimits(noLimits, platform)).toEqual(platform);
    expect(effectiveLimits(own, platform)).toEqual({ ...own, agentLogDays: 30 });
  });

  it("are changed field by field, and null takes the platform's", () => {
    const change = (paths: string[], limits: Partial<LogLimits>) =>
      changedLimits(own, { paths, limits: { ...noLimits, ...limits }, isPlatform: true }, platform);
    expect(change(["agent_log_days"], { agentLogDays: 30, eventLogDays: 1 })).toEqual({ ...own, agentLogDays: 30 });
    expect(change(["rows_per_day", "event_log_days"], {})).toEqual({ ...own, rowsPerDay: null, eventLogDays: null });
  });

  it.each([
    [[], {}, true, "no_updates", undefined],
    [["unknown"], {}, true, "no_updates", undefined],
    [["rows_per_day"], { rowsPerDay: 1 }, false, "permission_denied", undefined],
    [["bytes_per_day", "agent_log_days"], { agentLogDays: 1 }, false, "permission_denied", undefined],
    [["agent_log_days"], { agentLogDays: 31 }, true, "validation_failed", ["agentLogDays"]],
    [
      ["agent_log_days", "event_log_days"],
      { agentLogDays: 0, eventLogDays: 91 },
      false,
      "validation_failed",
      ["agentLogDays", "eventLogDays"],
    ],
    [["rows_per_day"], { rowsPerDay: 0 }, true, "validation_failed", ["rowsPerDay"]],
  ] as const)("refuse %j of %j (platform: %j) with %s", (paths, limits, isPlatform, code, fields) => {
    let error: AppError | null = null;
    try {
      changedLimits(own, { paths, limits: { ...noLimits, ...limits }, isPlatform }, platform);
    } catch (thrown) {
      error = thrown as AppError;
    }
    expect(error?.code).toBe(code);
    const details = error?.facts.details as { fieldErrors: object } | undefined;
    expect(details && Object.keys(details.fieldErrors)).toEqual(fields);
  });
});
