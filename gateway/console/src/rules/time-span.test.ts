import { describe, expect, it } from "@jest/globals";
import { timeSpan } from "./time-span.ts";

const now = new Date("2026-11-29T10:24:00Z");
const plain = (text: string) => text.replaceAll("\u202f", " ");

describe("a span of time", () => {
  it.each([
    ["has the day of its end, even if that is today", "2026-10-30T10:23:00Z", "Oct 30, 10:23 AM – Nov 29, 10:23 AM"],
    ["has the years where they differ", "2025-10-30T10:23:00Z", "Oct 30, 2025, 10:23 AM – Nov 29, 2026, 10:23 AM"],
  ])("%s", (_promise, from, text) => {
    const until = new Date("2026-11-29T10:23:26Z");
    expect(plain(timeSpan(new Date(from), until, now, { timeZone: "UTC", locale: "en-US" }))).toBe(text);
  });
});
