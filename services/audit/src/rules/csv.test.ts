import { describe, expect, it } from "@jest/globals";
import { csvCell, csvTable } from "./csv.ts";

describe("a CSV cell", () => {
  it.each([
    ["plain", "plain"],
    [null, ""],
    ["", ""],
    ["a,b", '"a,b"'],
    ['say "x"', '"say ""x"""'],
    ["two\nlines", '"two\nlines"'],
    [" padded", '" padded"'],
    ["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"],
    ['{"a":1}', '"{""a"":1}"'],
  ])("writes %j as %j", (value, cell) => expect(csvCell(value)).toBe(cell));

  it.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", '=HYPERLINK("http://x")', "＝1+1", "＠x"])(
    "makes the formula %j harmless",
    (value) => {
      const cell = csvCell(value);
      expect(cell.startsWith("\"'")).toBe(true);
      expect(cell.endsWith('"')).toBe(true);
    },
  );
});

describe("the columns of a CSV file", () => {
  it("are the named ones in their order, and all of them by default", () => {
    expect(csvTable(["action", "actorEmail"])?.header).toBe("action,actorEmail\r\n");
    const all = csvTable([])?.header ?? "";
    expect([all.split(",").length, all.startsWith("id,orgId,"), all.endsWith("prevChecksum\r\n")]).toEqual([
      23,
      true,
      true,
    ]);
    for (const names of [["nonsense"], ["action", ""], ["ACTION"]]) expect(csvTable(names)).toBeNull();
  });
});
