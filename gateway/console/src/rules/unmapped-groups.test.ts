import { expect, it } from "@jest/globals";
import { unmappedGroups } from "./unmapped-groups.ts";

const groups = [
  { id: "tills", members: 3 },
  { id: "trainees", members: 1 },
  { id: "all", members: 9 },
];

it.each([
  ["all of them without a row, those with most people first", [], ["all", "tills", "trainees"]],
  ["those that no row names", [{ groupId: "tills" }], ["all", "trainees"]],
  ["all of them beside a row of a claim", [{ groupId: null }], ["all", "tills", "trainees"]],
  ["none when each has a row", [{ groupId: "all" }, { groupId: "tills" }, { groupId: "trainees" }], []],
])("leaves %s", (_what, rows, ids) => {
  expect(unmappedGroups(groups, rows).map(({ id }) => id)).toEqual(ids);
});
