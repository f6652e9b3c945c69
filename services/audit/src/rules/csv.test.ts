import { describe, expect, it } from "@jest/globals";
import { aChainRow } from "../testing/chain-row.ts";
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
    expect([all.split(",").length, all.startsWith("id,orgId,"), all.endsWith(",prevChecksum,targets\r\n")]).toEqual([
      24,
      true,
      true,
    ]);
    for (const names of [["nonsense"], ["action", ""], ["ACTION"]]) expect(csvTable(names)).toBeNull();
  });

  it("hold the targets of a row as JSON, and nothing for a row without any", () => {
    const table = csvTable(["action", "targets"]);
    const lineOf = (change: Parameters<typeof aChainRow>[0]) => table?.line(aChainRow(change));
    expect(lineOf({ targets: [{ type: "site", id: "7", name: "=Berlin, Mitte" }] })).toBe(
      'site.create,"[{""type"":""site"",""id"":""7"",""name"":""=Berlin, Mitte""}]"\r\n',
    );
    expect(lineOf({})).toBe("site.create,\r\n");
  });
});
