import { describe, expect, it } from "@jest/globals";
import { limitOf, wavesOf } from "./waves.ts";

const counts = {
  succeeded: 95,
  failed: 5,
  inFlight: 0,
  failuresBeforeResume: 0,
  haltAfterFailures: 3,
  haltPercent: 5,
};

describe("the waves of a rollout", () => {
  it("those after the open ones wait", () => {
    const rings = [{ name: "Canary" }, { name: "A tenth" }, { name: "Everyone" }];
    expect(
      wavesOf({ ...counts, rings, openRings: 2, percent: 100 }).map(({ state, isNewest }) => [state, isNewest]),
    ).toEqual([
      ["open", false],
      ["open", true],
      ["waits", false],
    ]);
  });

  it("a rollout without rings is one wave", () => {
    expect(wavesOf({ ...counts, rings: [], openRings: 0, percent: 10 })).toEqual([
      { name: "10 % of the devices", state: "open", isNewest: true, ended: { succeeded: 95, failed: 5 } },
    ]);
  });

  it("the counts of a rollout are those of its first wave while it alone is open", () => {
    const rings = [{ name: "Canary" }, { name: "Everyone" }];
    const endedOf = (openRings: number) =>
      wavesOf({ ...counts, rings, openRings, percent: 100 }).map(({ ended }) => ended);
    expect(endedOf(1)).toEqual([{ succeeded: 95, failed: 5 }, null]);
    expect(endedOf(2)).toEqual([null, null]);
  });

  it.each([
    ["the share where it is larger", counts, { failed: 5, ended: 100, limit: 5 }],
    ["the number where few have answered", { ...counts, succeeded: 5 }, { failed: 5, ended: 10, limit: 3 }],
    ["none that no longer counts", { ...counts, failuresBeforeResume: 5 }, { failed: 0, ended: 95, limit: 5 }],
  ])("failures against the limit: %s", (_what, rollout, expected) => {
    expect(limitOf(rollout)).toEqual(expected);
  });
});
