import { expect, it } from "@jest/globals";
import { withNewest } from "./newest.ts";

const row = (id: string, value = 0) => ({ id, value });
const shown = [row("c"), row("b"), row("a")];

it.each([
  ["nothing was read again", undefined, shown, 0, false],
  ["nothing has changed", [row("c"), row("b")], shown, 0, false],
  ["a value has changed", [row("c"), row("b", 1)], [row("c"), row("b", 1), row("a")], 0, false],
  ["two rows are new", [row("e"), row("d"), row("c", 1)], [row("c", 1), row("b"), row("a")], 2, false],
  ["a row was removed", [row("b"), row("a")], shown, 0, false],
  ["all that was read is new", [row("f"), row("e")], shown, 2, true],
  ["the list is empty now", [], shown, 0, false],
])("rows stay where they are when %s", (_what, newest, rows, newCount, isMore) => {
  expect(withNewest(shown, newest)).toEqual({ rows, newCount, isMore });
});
