import { describe, expect, it } from "@jest/globals";
import { messagesAfter } from "./live-messages.ts";

const records = (...ids: number[]) => ids.map((recordId) => ({ recordId }));

describe("the events that are new to a follower of a log", () => {
  it.each([
    ["nothing at the beginning", [9], null, [], 9, false],
    ["nothing of an empty log", [], null, [], 0, false],
    ["what came since, oldest first", [9, 8, 7], 7, [8, 9], 9, false],
    ["nothing when nothing came", [9, 8], 9, [], 9, false],
    ["nothing of an answer that is empty now", [], 9, [], 9, false],
    ["everything of a log that was cleared", [2, 1], 9, [1, 2], 2, false],
    ["the newest, with a gap before them", [20, 19, 18], 9, [18, 19, 20], 20, true],
    ["a first record", [1], 0, [1], 1, false],
  ] as const)("is %s", (_name, newest, after, expected, next, isSkipped) => {
    expect(messagesAfter(records(...newest), after, 3)).toEqual({
      events: records(...expected),
      after: next,
      isSkipped,
    });
  });
});
