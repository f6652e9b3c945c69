import { expect, it } from "@jest/globals";
import { instantWords, sentenceParts, withInstants } from "./api-sentence.ts";

it("shows the instants of a sentence as people read them", () => {
  const sentence = "It ends at 2026-01-02T03:04:05.678Z: rotate it.";
  expect(withInstants(sentence, (at) => `day ${at.getUTCDate()}`)).toBe("It ends at day 2: rotate it.");
});

it.each([
  [
    "Halted: 5 failures, the last: rolled_back.",
    "5 failures. The last: The new version did not stay up, and the one before was restored.",
  ],
  [
    "Halted: 5 failures, the last: silent_after_return.",
    "5 failures. The last: It installed the version, and was not heard of again.",
  ],
  ["4 of 9 updates failed, the last: failed", "4 of 9 updates failed. The last: Its agent reported that it failed."],
])("the reason of a halt is a sentence, without the state: %s", (sentence, words) => {
  expect(withInstants(sentence, String)).toBe(words);
});

it.each([
  [
    "96 attempts in a row failed since 2026-11-27T17:27:00.000Z.",
    "96 attempts in a row failed in the last 27 minutes.",
  ],
  ["It ends at 2026-12-02T17:54:00Z: rotate it.", "It ends in 5 days: rotate it."],
  ["Its breaker is open until 2026-11-27T18:00:00Z: wait.", "Its breaker is open until 18 h: wait."],
  ["Failed before: tried again 2026-11-27T18:14:00Z", "Failed before: tried again in 20 minutes"],
  ["2 of 9 requests since 2026-11-27T16:54:00Z were refused.", "2 of 9 requests in the last hour were refused."],
])("says how far an instant is: %s", (sentence, words) => {
  const now = new Date("2026-11-27T17:54:00Z");
  const shortOf = (at: Date) => `${at.getUTCHours()} h`;
  const texts = sentenceParts(sentence).map((part) =>
    typeof part === "string" ? part : instantWords(part, now, shortOf),
  );
  expect(texts.join("")).toBe(words);
});
