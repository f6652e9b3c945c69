import { describe, expect, it } from "@jest/globals";
import { areChosen, choiceOf, chosenColumns, leastWidth, moved, usualColumns } from "./column-choice.ts";

const columns = ["host", "status", "os", "seen"].map((id) => ({ id }));
const ids = (list: readonly { id: string }[]) => list.map(({ id }) => id);

describe("the columns that a user chose", () => {
  it.each([
    ["no choice", null, ["host", "status", "os", "seen"]],
    [
      "another order",
      { order: ["host", "seen", "status", "os"], hidden: [], widths: {} },
      ["host", "seen", "status", "os"],
    ],
    ["hidden ones", { order: [], hidden: ["os"], widths: {} }, ["host", "status", "seen"]],
    ["the first one hidden", { order: [], hidden: ["host"], widths: {} }, ["host", "status", "os", "seen"]],
    [
      "a column that no longer exists",
      { order: ["host", "gone", "status"], hidden: ["gone"], widths: {} },
      ["host", "status", "os", "seen"],
    ],
  ])("under %s", (_what, choice, shown) => {
    expect(ids(chosenColumns(columns, choice))).toEqual(shown);
  });

  it("move by one position, never before the first one", () => {
    const once = moved(columns, null, "seen", -1);
    expect(ids(chosenColumns(columns, once))).toEqual(["host", "status", "seen", "os"]);
    expect(ids(chosenColumns(columns, moved(columns, null, "status", -1)))).toEqual(ids(columns));
    expect(ids(chosenColumns(columns, moved(columns, null, "seen", 1)))).toEqual(ids(columns));
  });

  it.each([null, "", "null", "[]", '{"order":1,"hidden":[]}', '{"order":[1],"hidden":[]}'])(
    "are the usual ones when the browser keeps %j",
    (text) => {
      expect(choiceOf(text)).toBeNull();
    },
  );

  it("are kept as they were", () => {
    const choice = { order: ["host", "os"], hidden: ["os"], widths: { host: 320 } };
    expect(choiceOf(JSON.stringify(choice))).toEqual(choice);
    expect(moved(columns, choice, "seen", -1)).toMatchObject({ hidden: ["os"], widths: { host: 320 } });
  });

  it("are kept without invalid widths, and without any widths when they were chosen before there were widths", () => {
    const kept = { order: ["host"], hidden: [] };
    expect(choiceOf(JSON.stringify(kept))).toEqual({ ...kept, widths: {} });
    const widths = { host: 200, os: "wide", seen: -1, status: 1.5, gone: null };
    expect(choiceOf(JSON.stringify({ ...kept, widths }))?.widths).toEqual({ host: 200 });
  });

  it("are chosen once they are others or in another order, not by their widths", () => {
    expect(areChosen(null)).toBe(false);
    expect(areChosen({ ...usualColumns, widths: { host: 200 } })).toBe(false);
    expect(areChosen({ ...usualColumns, hidden: ["os"] })).toBe(true);
  });
});

it("a table is as wide as its columns, of which one without a width keeps some", () => {
  const columns = [{ id: "host" }, { id: "status", width: "10rem" }, { id: "agent", width: "6rem" }];
  expect(leastWidth(columns, { agent: 120 })).toBe("calc(10rem + 10rem + 120px)");
});
