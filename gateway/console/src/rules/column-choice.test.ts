import { describe, expect, it } from "@jest/globals";
import { choiceOf, chosenColumns, moved } from "./column-choice.ts";

const columns = ["host", "status", "os", "seen"].map((id) => ({ id }));
const ids = (list: readonly { id: string }[]) => list.map(({ id }) => id);

describe("columns that somebody chose", () => {
  it.each([
    ["no choice", null, ["host", "status", "os", "seen"]],
    ["another order", { order: ["host", "seen", "status", "os"], hidden: [] }, ["host", "seen", "status", "os"]],
    ["hidden ones", { order: [], hidden: ["os"] }, ["host", "status", "seen"]],
    ["the first one hidden", { order: [], hidden: ["host"] }, ["host", "status", "os", "seen"]],
    ["one that is gone", { order: ["host", "gone", "status"], hidden: ["gone"] }, ["host", "status", "os", "seen"]],
  ])("under %s", (_what, choice, shown) => {
    expect(ids(chosenColumns(columns, choice))).toEqual(shown);
  });

  it("move by one place, never before the first one", () => {
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
    const choice = { order: ["host", "os"], hidden: ["os"] };
    expect(choiceOf(JSON.stringify(choice))).toEqual(choice);
  });
});
