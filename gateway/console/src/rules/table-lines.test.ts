import { expect, it } from "@jest/globals";
import { linesOf } from "./table-lines.ts";

type Row = { id: string; group: string | null };
const row = (id: string, group: string | null): Row => ({ id, group });
const shown = (rows: readonly Row[], quiet?: { group: string; isOpen: boolean }) =>
  linesOf(
    rows,
    ({ id }) => id,
    ({ group }) => group,
    quiet,
  ).map(({ key, heading, folded }) => `${heading ?? key}${folded === null ? "" : ` (${folded})`}`);

const rows = [row("a", "Waves"), row("b", "Unused"), row("c", "Waves"), row("d", "Unused"), row("e", null)];

it("rows stand in their order, below a heading wherever their group is another one", () => {
  expect(shown(rows)).toEqual(["Waves", "a", "Unused", "b", "Waves", "c", "Unused", "d", "e"]);
});

it("rows of the quiet group come last, as one heading with their number until they are requested", () => {
  expect(shown(rows, { group: "Unused", isOpen: false })).toEqual(["Waves", "a", "c", "e", "Unused (2)"]);
  expect(shown(rows, { group: "Unused", isOpen: true })).toEqual(["Waves", "a", "c", "e", "Unused (2)", "b", "d"]);
});

it("rows of the quiet group are shown where there are no others", () => {
  expect(shown([row("b", "Unused")], { group: "Unused", isOpen: false })).toEqual(["Unused", "b"]);
});
