import { expect, it } from "@jest/globals";
import { awayGroups } from "./away-groups.ts";

const device = (lastSeenAt: string | null, siteId: string | null = "a", status = "offline") => ({
  lastSeenAt,
  siteId,
  status,
});

it.each([
  ["of one site that never came are one", [device(null), device(null)], [2]],
  ["of one site that were lost within an hour are one", [at("08:00"), at("08:59"), at("09:10")], [2, 1]],
  ["that came and that never came are apart", [device(null), at("08:00")], [1, 1]],
  ["of two sites are apart, also in turns", [device(null), device(null, "b"), device(null)], [2, 1]],
  ["that wait for approval are apart", [device(null), device(null, "a", "quarantined")], [1, 1]],
  ["of none are none", [], []],
])("devices %s", (_which, devices, counts) => {
  expect(awayGroups(devices).map(({ count }) => count)).toEqual(counts);
});

function at(time: string) {
  return device(`2026-01-02T${time}:00.000Z`);
}
