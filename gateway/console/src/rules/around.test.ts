import { describe, expect, it } from "@jest/globals";
import { around, offsetWords } from "./around.ts";

/** A row of this second. */
const at = (second: number) => ({ id: `row-${second}`, timestamp: new Date(second * 1_000).toISOString() });
const rowsOf = (...seconds: number[]) => seconds.map(at);
const idsOf = (lines: readonly { first: { id: string } }[]) => lines.map(({ first }) => Number(first.id.slice(4)));
/** Each row says something else. */
const five = { most: 5, textOf: ({ id }: { id: string }) => id };

describe("the rows around a row", () => {
  it.each([
    ["as many older as newer ones", [5, 4, 3, 2, 1], [9, 8, 7, 6, 5], [7, 6, 5, 4, 3], 2],
    ["more older ones next to the newest", [5, 4, 3, 2, 1], [5], [5, 4, 3, 2, 1], 0],
    ["more newer ones next to the oldest", [5], [9, 8, 7, 6, 5], [9, 8, 7, 6, 5], 0],
    ["itself alone without others", [5], [5], [5], 0],
    ["itself, where it was not among those of its second", [], [], [5], 0],
  ])("are %s", (_promise, older, newer, shown, newerCount) => {
    const read = { older: rowsOf(...older), newer: rowsOf(...newer), isMore: false };
    const found = around(at(5), read, five);
    expect({ rows: idsOf(found.lines), newerCount: found.newerCount }).toEqual({ rows: shown, newerCount });
  });

  it("are no newer ones where there are too many to know the next", () => {
    const read = { older: rowsOf(5, 4, 3), newer: rowsOf(99, 98, 97), isMore: true };
    const found = around(at(5), read, five);
    expect({ rows: idsOf(found.lines), newerCount: found.newerCount }).toEqual({ rows: [5, 4, 3], newerCount: null });
  });

  it("are in the API's order within a millisecond", () => {
    const same = ["a", "b", "c"].map((id) => ({ id, timestamp: at(5).timestamp }));
    const [first = at(5)] = same;
    const { lines } = around(first, { older: same, newer: same, isMore: false }, five);
    expect(lines.map(({ first: { id } }) => id)).toEqual(["c", "b", "a"]);
  });

  it("are one line where they say the same, but for the row itself", () => {
    const read = { older: rowsOf(5, 4, 3, 2), newer: rowsOf(9, 8, 7, 6, 5), isMore: false };
    const found = around(at(5), read, { most: 2, textOf: () => "tested" });
    expect(found.lines.map(({ first: { id }, count }) => [id, count])).toEqual([
      ["row-9", 4],
      ["row-5", 1],
    ]);
    expect(around(at(5), read, { most: 1, textOf: () => "tested" }).newerCount).toBe(4);
  });
});

it.each([
  [9, "9 s later"],
  [-45, "45 s earlier"],
  [150, "3 min later"],
  [-3_600, "60 min earlier"],
  [0, "the same second"],
])("a row %i seconds from another one is %s", (seconds, words) => {
  expect(offsetWords(at(10_000 + seconds).timestamp, at(10_000).timestamp)).toBe(words);
});
