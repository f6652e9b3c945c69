import { expect, it } from "@jest/globals";
import { certificateDays, endingTone, keyDays } from "./ending.ts";

const now = new Date("2026-03-01T12:00:00.000Z");

it.each([
  ["an end in a month needs nothing", "2026-04-01T12:00:00.000Z", null],
  ["an end in two weeks is soon", "2026-03-15T12:00:00.000Z", "warn"],
  ["an end a millisecond later than that is not", "2026-03-15T12:00:00.001Z", null],
  ["an end of this moment has passed", "2026-03-01T12:00:00.000Z", "bad"],
] as const)("%s", (_name, at, tone) => {
  expect(endingTone(at, now, keyDays)).toBe(tone);
});

it("a certificate is to be replaced earlier than a key", () => {
  expect(endingTone("2026-03-25T00:00:00.000Z", now, certificateDays)).toBe("warn");
});
