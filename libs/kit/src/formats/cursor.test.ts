import { describe, expect, it } from "@jest/globals";
import { AppError } from "../errors/app-error.ts";
import { type CursorPart, decodeCursor, encodeCursor } from "./cursor.ts";
import { uuidv7 } from "./uuid.ts";

const id = uuidv7();
const time = new Date("2026-02-28T23:59:59.007Z");

function refusal(cursor: string, kinds: readonly CursorPart[]): string {
  try {
    return `read as ${JSON.stringify(decodeCursor(cursor, kinds))}`;
  } catch (error) {
    return error instanceof AppError ? error.code : String(error);
  }
}

const raw = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("cursors", () => {
  it("are read as the values that they were made of", () => {
    const cursor = encodeCursor([time, id, "Ärger & Söhne 💾", 12, false]);
    expect(decodeCursor(cursor, ["time", "uuid", "text", "count", "flag"])).toEqual([
      time,
      id,
      "Ärger & Söhne 💾",
      12,
      false,
    ]);
  });

  it.each([
    ["a number that Date.parse takes for a month", "5"],
    ["a year", "2026"],
    ["a day", "2026-01-01"],
    ["a day that no month has", "2026-02-30T00:00:00.000Z"],
    ["an hour that no day has", "2026-01-01T24:00:00.000Z"],
    ["the year nought", "0000-01-01T00:00:00.000Z"],
    ["six digits of a year", "+010000-01-01T00:00:00.000Z"],
    ["another zone", "2026-01-01T00:00:00.000+01:00"],
    ["no milliseconds", "2026-01-01T00:00:00Z"],
    ["words", "Thu, 01 Jan 1970 00:00:00 GMT"],
    ["a comment", "2026-01-01T00:00:00.000Z (x)"],
    ["nothing", ""],
  ])("are refused with a time that is %s", (_what, text) => {
    expect(refusal(raw([text, id]), ["time", "uuid"])).toBe("validation_failed");
  });

  it.each<[string, string, CursorPart[]]>([
    ["no base64url of JSON", "%%%", ["uuid"]],
    ["empty", "", ["uuid"]],
    ["an object", raw({ 0: id }), ["uuid"]],
    ["a list of numbers", raw([5]), ["count"]],
    ["too short", raw([time.toISOString()]), ["time", "uuid"]],
    ["too long", raw([time.toISOString(), id, id]), ["time", "uuid"]],
    ["with half an id", raw([id.slice(1)]), ["uuid"]],
    ["with NUL in a text", raw(["a\0b"]), ["text"]],
    ["with an endless text", raw(["x".repeat(2_000)]), ["text"]],
    ["with a negative number", raw(["-1"]), ["count"]],
    ["with a number beyond 2^53", raw(["9".repeat(16)]), ["count"]],
    ["with a flag that is neither", raw(["maybe"]), ["flag"]],
  ])("are refused: %s", (_what, cursor, kinds) => {
    expect(refusal(cursor, kinds)).toBe("validation_failed");
  });
});
