import { expect, it } from "@jest/globals";
import { bytesWords } from "./bytes-words.ts";

it.each([
  [0, "0 bytes"],
  [1_023, "1,023 bytes"],
  [1_024, "1 KB"],
  [1_600_000, "1.5 MB"],
  [53_687_091_200, "50 GB"],
  [2 ** 60, "1,048,576 TB"],
])("%s bytes are %s", (bytes, words) => {
  expect(bytesWords(bytes)).toBe(words);
});
