import { expect, it } from "@jest/globals";
import { withInstants } from "./api-sentence.ts";

it("shows the instants of a sentence as people read them", () => {
  const sentence = "It ends at 2026-01-02T03:04:05.678Z: rotate it.";
  expect(withInstants(sentence, (at) => `day ${at.getUTCDate()}`)).toBe("It ends at day 2: rotate it.");
});

it.each([
  [
    "Halted: 5 failures, the last: rolled_back.",
    "5 failures. The last: The new version did not stay up, and the one before was restored.",
  ],
  ["Halted: 5 failures, the last: silent_after_return.", "5 failures. The last: Silent after return."],
  ["4 of 9 updates failed, the last: failed", "4 of 9 updates failed. The last: Its agent reported that it failed."],
])("the reason of a halt is a sentence, without the state: %s", (sentence, words) => {
  expect(withInstants(sentence, String)).toBe(words);
});
