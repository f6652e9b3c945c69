import { expect, it } from "@jest/globals";
import { cycleWords, refusedWords } from "./cycle-words.ts";

const cycle = { requests: 4, refused: 0, created: 3, changed: 0, deleted: 1 };

it.each([
  [{}, "3 created, 1 deleted", "none of 4"],
  [{ created: 0, deleted: 0, refused: 4 }, "nothing changed", "4 of 4 requests"],
  [{ requests: 1, refused: 1, changed: 2_000 }, "3 created, 2,000 changed, 1 deleted", "1 of 1 request"],
])("a directory's cycle with %j: %s, refused %s", (changes, did, refused) => {
  expect(cycleWords({ ...cycle, ...changes })).toBe(did);
  expect(refusedWords({ ...cycle, ...changes })).toBe(refused);
});
