import { expect, it } from "@jest/globals";
import { areAllOffline, connectedOf, outageOf, stepOf } from "./connected.ts";

const counts = (online: number, updating: number, offline: number, quarantined = 0) => ({
  ...{ online, updating, offline, quarantined },
});

it.each([
  ["devices that update are connected", counts(90, 5, 5), 95, 100, null, "Mostly online"],
  ["one of ten that is away is worth a look", counts(9, 0, 1), 9, 10, "warn", "At least a tenth offline"],
  ["half of them away is an outage", counts(1, 0, 1), 1, 2, "bad", "At least half offline"],
  ["those that wait for approval do not count", counts(0, 0, 0, 4), 0, 0, null, "No devices"],
] as const)("%s", (_name, of, online, total, tone, heading) => {
  expect(connectedOf(of)).toEqual({ online, total, tone });
  expect(outageOf(of)).toBe(heading);
});

it.each([
  ["none of an owner whose devices are well", counts(10, 0, 1), undefined],
  ["the offline ones where a tenth is", counts(9, 0, 1), "See offline devices"],
  ["the offline ones of an outage", counts(1, 0, 1), "See offline devices"],
  ["those that wait for approval", counts(9, 0, 0, 3), "See 3 to approve"],
  ["those that wait, in an outage, too", counts(0, 0, 2, 1_200), "See 1,200 to approve"],
] as const)("devices to look at are %s", (_name, of, words) => {
  expect(stepOf(of)?.words).toBe(words);
});

const byStatus = (counts: Record<string, number>) =>
  Object.entries(counts).map(([status, count]) => ({ status, count }));

it.each([
  ["none is connected, whatever waits for approval", { offline: 2, quarantined: 1 }, true],
  ["one installs an update", { offline: 2, updating: 1 }, false],
  ["there is none", { online: 0, offline: 0 }, false],
])("all devices of an owner are offline where %s: %j is %s", (_when, counts, areAll) => {
  expect(areAllOffline(byStatus(counts))).toBe(areAll);
});
