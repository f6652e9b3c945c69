import { describe, expect, it } from "@jest/globals";
import { isOverThreshold } from "../../../../services/agent-release/src/rules/rollout.ts";
import { haltingFailures, haltSentence, haltWords, limitBar, partWords } from "./halting-failures.ts";

const limits = { haltAfterFailures: 50, haltPercent: 3 };

it.each([
  ["three of three, which 3 % do not explain", limits, 3, 3],
  ["four of nine", limits, 9, 4],
  ["none of two: one of two is chance", limits, 2, 51],
  ["one beyond the number where the share tolerates all", { haltAfterFailures: 7, haltPercent: 100 }, 5, 8],
  ["three of many where nothing is tolerated", { haltAfterFailures: 50, haltPercent: 0 }, 1_000, 3],
  ["the number where it is reached before the share", { haltAfterFailures: 4, haltPercent: 50 }, 20, 11],
])("halts at %s", (_what, of, ended, failed) => {
  expect(haltingFailures(of, ended)).toBe(failed);
});

it("more updates tolerate more failures", () => {
  const at = [10, 100, 1_000, 10_000].map((ended) =>
    haltingFailures({ haltAfterFailures: 10_000, haltPercent: 3 }, ended),
  );
  expect(at).toEqual([...at].sort((a, b) => a - b));
  expect(at[3]).toBeGreaterThan(300);
  expect(at[3]).toBeLessThan(400);
});

it("is where agent-release halts, for every number of ended updates", () => {
  for (const haltPercent of [0, 0.5, 1, 3, 7, 29, 50, 99.9, 100]) {
    for (const haltAfterFailures of [0, 1, 4, 50, 1_000]) {
      for (const ended of [...Array(120).keys(), 1_000, 4_321]) {
        const isOver = (failed: number) =>
          isOverThreshold(
            { maxInFlight: 1, haltFailures: haltAfterFailures, haltPercent },
            { inFlight: 0, succeeded: ended - failed, failed, failuresBeforeResume: 0 },
          );
        const limit = haltingFailures({ haltAfterFailures, haltPercent }, ended);
        const found = { haltPercent, haltAfterFailures, ended, limit };
        expect({ ...found, before: limit > 0 && limit <= ended + 1 && isOver(limit - 1) }).toEqual({
          ...found,
          before: false,
        });
        if (limit <= ended) expect({ ...found, at: isOver(limit) }).toEqual({ ...found, at: true });
        else expect({ ...found, all: isOver(ended) }).toEqual({ ...found, all: false });
      }
    }
  }
});

it("says what the line of every bar is", () => {
  expect(haltSentence(limits)).toBe("It halts at the line: where clearly more than 3 % fail.");
});

it.each([
  ["below it", { failed: 1, limit: 4 }, { filled: 20, mark: 80 }],
  ["at it", { failed: 4, limit: 4 }, { filled: 100, mark: 100 }],
  ["beyond it", { failed: 4, limit: 2 }, { filled: 100, mark: 50 }],
])("a bar of failures shows its limit %s", (_name, of, bar) => {
  expect(limitBar(of)).toEqual(bar);
});

it.each([
  [5, "5 of 6 updates failed, the last: silent"],
  [3, "3 of 3 updates failed, the last: silent"],
])("a part with %d failures by now was halted after %j", (failed, words) => {
  expect(partWords("3 of 3 updates failed, the last: silent", { failed, succeeded: 1 })).toBe(words);
});

describe("why a rollout was halted", () => {
  it.each([
    ["3 failures, all of one organization", 4, "Halted after", "3 failures (4 by now), all of one organization"],
    ["3 failures, all of one organization", 3, "Halted after", "3 failures, all of one organization"],
    [
      "3 failures, all of one organization, the last: silent",
      4,
      "Halted after 3 failures (4 by now), all of one organization.",
      "The last: It was not heard of again in time, and the one before was restored.",
    ],
    ["3 of 10 devices failed: timed_out", 4, "Halted after", "3 of 10 devices failed: timed_out"],
    ["the version was yanked", 4, "Halted.", "the version was yanked"],
  ])("in %j with %d failed reads as %j and %j", (reason, failed, title, rest) => {
    expect(haltWords(reason, failed)).toEqual({ title, rest });
  });
});
