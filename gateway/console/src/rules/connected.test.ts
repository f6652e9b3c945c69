import { expect, it } from "@jest/globals";
import { connectedOf } from "./connected.ts";

const counts = (online: number, updating: number, offline: number, others = 0) => [
  { status: "online", count: online },
  { status: "updating", count: updating },
  { status: "offline", count: offline },
  { status: "quarantined", count: others },
  { status: "decommissioned", count: others },
];

it.each([
  ["devices that update are connected", counts(90, 5, 5), 95, 100, null],
  ["one of ten that is away is worth a look", counts(9, 0, 1), 9, 10, "warn"],
  ["half of them away is an outage", counts(1, 0, 1), 1, 2, "bad"],
  ["those that wait for approval or are decommissioned do not count", counts(0, 0, 0, 4), 0, 0, null],
  ["an answer without counts has none", [], 0, 0, null],
] as const)("%s", (_name, of, online, total, tone) => {
  expect(connectedOf(of)).toEqual({ online, total, tone });
});
