import { expect, it } from "@jest/globals";
import { isQuiet, tellingColumns } from "./telling-columns.ts";

type Row = { name: string; status: string; cause: string | null };
const columns = [
  { id: "name", cell: ({ name }: Row) => name },
  { id: "status", cell: ({ status }: Row) => status, isUsual: ({ status }: Row) => status === "active" },
  { id: "why", as: "cause", cell: ({ cause }: Row) => cause },
];
const row = (status: string, cause: string | null = null): Row => ({ name: "Globex", status, cause });
const shown = (rows: readonly Row[], isChosen = false) =>
  tellingColumns<Row, (typeof columns)[number]>(columns, rows, isChosen).map(({ id }) => id);

it("a list leaves a column out while it says the usual thing in every row", () => {
  expect(shown([row("active"), row("active")])).toEqual(["name"]);
  expect(shown([row("active"), row("suspended")])).toEqual(["name", "status"]);
});

it("a list shows a column that users chose, whatever it says", () => {
  expect(shown([row("active")], true)).toEqual(["name", "status"]);
});

it("a list has a column of causes while one of its rows has a cause", () => {
  expect(shown([row("active"), row("active", "It answers 500.")])).toEqual(["name", "why"]);
});

it("a value is quiet where it is the usual or the expected one", () => {
  expect(columns.map((column) => isQuiet<Row>(column, row("active")))).toEqual([false, true, false]);
  expect(columns.map((column) => isQuiet<Row>(column, row("suspended")))).toEqual([false, false, false]);
  const isExpected = { isQuiet: ({ cause }: Row) => cause === null };
  expect(isQuiet(isExpected, row("active"))).toBe(true);
  expect(isQuiet(isExpected, row("active", "It answers 500."))).toBe(false);
});

it("a list keeps a column of expected values", () => {
  const expected = [{ id: "passwords", cell: () => "allowed", isQuiet: () => true }];
  expect(tellingColumns(expected, [row("active")], false)).toEqual(expected);
});
