import { expect, it } from "@jest/globals";
import { type Grouping, linesOf } from "./table-lines.ts";

type Row = { id: string; group: string | null };
const row = (id: string, group: string | null): Row => ({ id, group });
const groupOf = ({ group }: Row) => group;
const shown = (rows: readonly Row[], grouping: Grouping<Row> = {}, opened: readonly string[] = []) =>
  linesOf(rows, ({ id }) => id, { groupOf, ...grouping }, new Set(opened)).map(
    ({ key, heading, folded }) => `${heading ?? key}${folded === null ? "" : ` (${folded})`}`,
  );

const rows = [row("a", "Waves"), row("b", "Unused"), row("c", "Waves"), row("d", "Unused"), row("e", null)];

it("rows stand in their order, below a heading wherever their group is another one", () => {
  expect(shown(rows)).toEqual(["Waves", "a", "Unused", "b", "Waves", "c", "Unused", "d", "e"]);
});

it("rows of the quiet group come last, as one heading with their number until they are requested", () => {
  const quiet = { quietGroup: "Unused" };
  expect(shown(rows, quiet)).toEqual(["Waves", "a", "c", "e", "Unused (2)"]);
  expect(shown(rows, quiet, ["quiet"])).toEqual(["Waves", "a", "c", "e", "Unused (2)", "b", "d"]);
});

it("rows of the quiet group are shown where there are no others", () => {
  expect(shown([row("b", "Unused")], { quietGroup: "Unused" })).toEqual(["Unused", "b"]);
});

it("rows that repeat the one before are a line of their number until they are requested", () => {
  const same = ["a", "b", "c", "d"].map((id) => row(id, "Today"));
  const grouping = { runOf: ({ id }: Row) => (id === "other" ? null : "changed") };
  expect(shown([...same, row("other", "Today")], grouping)).toEqual(["Today", "a", "More like it (3)", "other"]);
  expect(shown(same, grouping, ["after a"])).toEqual(["Today", "a", "More like it (3)", "b", "c", "d"]);
  // Of another day, and as few as the line is long.
  expect(shown([...same.slice(0, 3), row("e", "Before")], grouping)).toEqual(["Today", "a", "b", "c", "Before", "e"]);
});

it("a line hides 99 rows at most, and ends with the last of them", () => {
  const same = Array.from({ length: 150 }, (_, at) => row(String(at), null));
  expect(shown(same, { runOf: () => "changed" })).toEqual(["0", "More like it (99)", "100", "More like it (49)"]);
  const lines = linesOf(same, ({ id }) => id, { runOf: () => "changed" }, new Set());
  expect(lines.map(({ at }) => at)).toEqual([0, 99, 100, 149]);
});
