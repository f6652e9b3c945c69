import { expect, it } from "@jest/globals";
import { ownerNeeds } from "./owner-needs.ts";

const counts = (online: number, offline: number, quarantined = 0) => ({ online, offline, updating: 0, quarantined });

it.each([
  ["nothing where nearly all are connected", counts(95, 5), []],
  ["an outage", counts(0, 37), ["bad: 37 offline"]],
  ["more offline than usual, and who waits", counts(27, 3, 2), ["warn: 3 offline", "warn: 2 to approve"]],
  ["who waits, where no device is connected yet", counts(0, 0, 1), ["warn: 1 to approve"]],
  ["nothing where nobody has counted", undefined, []],
])("an owner needs %s", (_name, of, needs) => {
  expect(ownerNeeds(of).map(({ tone, words }) => `${tone}: ${words}`)).toEqual(needs);
});
