import { describe, expect, it } from "@jest/globals";
import { chosenSegment, fleetSegments } from "./fleet-segments.ts";

const counts = (online: number, offline: number, outdated = 0) => ({
  byStatus: [
    { status: "online", count: online },
    { status: "offline", count: offline },
    { status: "decommissioned", count: 7 },
  ],
  outdated,
  failed: 0,
});
const titles = (of: ReturnType<typeof fleetSegments>) => of.map(({ title, count }) => `${title} ${count}`);

describe("segments of a fleet", () => {
  it("are all in use and the parts that have a device", () => {
    expect(titles(fleetSegments(counts(5, 2, 3), {}))).toEqual(["All in use 7", "Offline 2", "Behind 3", "Online 5"]);
  });

  it("keep the chosen one while it has no device", () => {
    expect(titles(fleetSegments(counts(5, 0), { updateState: "failed" }))).toEqual([
      "All in use 5",
      "Update failed 0",
      "Online 5",
    ]);
  });

  it("are none without a device", () => {
    expect(fleetSegments(counts(0, 0), {})).toEqual([]);
  });
});

it.each([
  [{}, "all"],
  [{ status: "", updateState: "" }, "all"],
  [{ status: "offline" }, "offline"],
  [{ updateState: "behind" }, "behind"],
  [{ status: "offline", updateState: "behind" }, null],
  [{ status: "offline,quarantined" }, null],
])("the filters %j are the segment %s", (filter, key) => {
  expect(chosenSegment(filter)).toBe(key);
});
