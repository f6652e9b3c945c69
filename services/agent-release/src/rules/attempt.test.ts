import { describe, expect, it } from "@jest/globals";
import { moveAttempt, type OpenAttempt, type Said } from "./attempt.ts";

const now = new Date("2024-02-29T12:00:00Z");
const offered: OpenAttempt = { state: "offered", version: "1.2.0", fromVersion: "1.1.0", returnedAt: null };
const soaking = (seconds: number): OpenAttempt => {
  return { ...offered, state: "returned", returnedAt: new Date(now.getTime() - seconds * 1_000) };
};
const runs = (current: string): Said => ({ current, report: null });
const reports = (state: string, error = ""): Said => ({ current: "1.1.0", report: { state, error } });
const around = { now, soakSeconds: 120, deferred: 0 };

describe("an open attempt", () => {
  it.each<[string, OpenAttempt, Said, object, object | null]>([
    ["waits while the old version runs", offered, runs("1.1.0"), {}, null],
    ["waits while it is installed", offered, reports("installing"), {}, null],
    ["has returned with the target", offered, runs("v1.2.0+build"), {}, { to: "returned" }],
    ["has succeeded at once without a soak", offered, runs("1.2.0"), { soakSeconds: 0 }, { to: "succeeded" }],
    ["soaks", soaking(119), runs("1.2.0"), {}, null],
    ["has succeeded after its soak", soaking(120), runs("1.2.0"), {}, { to: "succeeded" }],
    ["soaks for ever while its rollout is paused", soaking(500), runs("1.2.0"), { soakSeconds: Infinity }, null],
    ["fails when the device goes back", soaking(5), runs("1.1.0"), {}, { to: "failed", reason: "rolled_back" }],
    [
      "fails with the reason that the agent reports",
      offered,
      reports("failed", "bad_digest"),
      {},
      { to: "failed", reason: "bad_digest" },
    ],
    [
      "fails by the state when the error is unknown",
      offered,
      reports("rolled_back", "?"),
      {},
      { to: "failed", reason: "rolled_back" },
    ],
    ["fails with an older version than before", offered, runs("1.0.0"), {}, { to: "failed", reason: "older_version" }],
    [
      "ends with another version, uncounted",
      offered,
      runs("1.3.0"),
      {},
      { to: "cancelled", reason: "another_version" },
    ],
    ["is deferred while a file is locked", offered, reports("locked"), {}, { to: "deferred" }],
    [
      "fails when it was locked ten times",
      offered,
      reports("locked"),
      { deferred: 9 },
      { to: "failed", reason: "locked" },
    ],
    [
      "keeps soaking when a locked file is reported late",
      soaking(5),
      { current: "1.2.0", report: { state: "locked", error: "" } },
      {},
      null,
    ],
    [
      "fails when it is back at the old version and locked",
      soaking(5),
      reports("locked"),
      {},
      { to: "failed", reason: "rolled_back" },
    ],
    [
      "ends uncounted when the device's updates are turned off",
      offered,
      { ...runs("1.1.0"), stopped: "auto_update_off" as const },
      {},
      { to: "cancelled", reason: "auto_update_off" },
    ],
    [
      "keeps soaking when they are turned off later",
      soaking(5),
      { ...runs("1.2.0"), stopped: "auto_update_off" as const },
      {},
      null,
    ],
    ["waits when the version cannot be read", offered, runs("nightly"), {}, null],
  ])("%s", (_name, attempt, said, change, expected) => {
    expect(moveAttempt(attempt, said, { ...around, ...change })).toEqual(expected);
  });
});
