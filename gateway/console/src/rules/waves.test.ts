import { describe, expect, it } from "@jest/globals";
import {
  type CountedWave,
  limitOf,
  limitsByWave,
  limitTone,
  nextWaveWords,
  type Wave,
  wavesOf,
  waveWords,
} from "./waves.ts";

const rollout = {
  rings: [{}, {}, {}],
  percent: 100,
  succeeded: 95,
  failed: 5,
  inFlight: 0,
  failuresBeforeResume: 0,
  haltAfterFailures: 3,
  haltPercent: 5,
};
const none = { offered: 0, inFlight: 0, succeeded: 0, failed: 0 };
const counted: readonly CountedWave[] = [
  { ...none, name: "Canary", isOpen: true, devices: 48, offered: 50, succeeded: 35, failed: 4, inFlight: 11 },
  { ...none, name: "A tenth", isOpen: true, devices: 263 },
  { ...none, name: "Everyone", isOpen: false, devices: 2_364 },
];

describe("the waves of a rollout", () => {
  it("those after the open ones wait; each has its own counts, also of devices that came later", () => {
    expect(wavesOf(rollout, counted)).toEqual([
      { name: "Canary", state: "open", isNewest: false, devices: 50, succeeded: 35, failed: 4, inFlight: 11 },
      { name: "A tenth", state: "open", isNewest: true, devices: 263, succeeded: 0, failed: 0, inFlight: 0 },
      { name: "Everyone", state: "waits", isNewest: false, devices: 2_364, succeeded: 0, failed: 0, inFlight: 0 },
    ]);
  });

  it("a rollout without rings is one wave with the counts of the rollout", () => {
    expect(wavesOf({ ...rollout, rings: [], percent: 10 }, [])).toEqual([
      {
        name: "10 % of the devices",
        state: "open",
        isNewest: true,
        devices: null,
        succeeded: 95,
        failed: 5,
        inFlight: 0,
      },
    ]);
  });

  it.each([
    [0, "35 done, 4 failed, 11 in progress"],
    [1, "open now, nothing offered yet"],
    [2, "waits for wave 2"],
  ])("wave %i says how far it is", (at, words) => {
    expect(waveWords(wavesOf(rollout, counted)[at] as Wave, at)).toBe(words);
  });
});

describe("failures against the limit", () => {
  it.each([
    ["of as many as have answered", rollout, { failed: 5, ended: 100, limit: 6 }],
    ["of few", { ...rollout, succeeded: 5 }, { failed: 5, ended: 10, limit: 4 }],
    ["none that no longer counts", { ...rollout, failuresBeforeResume: 5 }, { failed: 0, ended: 95, limit: 5 }],
  ])("%s", (_what, of, expected) => {
    expect(limitOf(of)).toEqual(expected);
  });

  it.each([
    [1, "good"],
    [2, "warn"],
    [4, "bad"],
  ])("%d of 4 are %s", (failed, tone) => {
    expect(limitTone({ failed, limit: 4 })).toBe(tone);
  });

  it("waves that have answered have their own; one wave alone has that of the rollout", () => {
    const waves = wavesOf(rollout, counted);
    expect(limitsByWave(rollout, waves)).toEqual([{ name: "Canary", failed: 4, ended: 39, limit: 4 }]);
    expect(limitsByWave(rollout, waves.slice(0, 1))).toEqual([]);
  });
});

it.each([
  ["at a share of successes", { state: "running", waveSuccessPercent: 95 }, "the next opens at 95 % success"],
  ["by hand without one", { state: "running", waveSuccessPercent: null }, "the next opens by hand"],
  ["not while it is halted", { state: "halted", waveSuccessPercent: 95 }, "no wave opens while it is halted"],
  ["not after its end", { state: "cancelled", waveSuccessPercent: 95 }, ""],
] as const)("the next wave opens %s", (_name, rollout, words) => {
  expect(nextWaveWords(rollout, [{ state: "open" }, { state: "waits" }])).toBe(words);
  expect(nextWaveWords(rollout, [{ state: "open" }])).toBe("");
});
