import { describe, expect, it } from "@jest/globals";
import { createRoundRobin } from "./round-robin.ts";

const all = <J>(lanes: { next(): J | undefined }) => {
  const taken: J[] = [];
  for (let job = lanes.next(); job !== undefined; job = lanes.next()) taken.push(job);
  return taken;
};

describe("lanes", () => {
  it("take turns, each in its own order, and come back behind the others", () => {
    const lanes = createRoundRobin<string>();
    for (const job of ["a1", "a2", "a3", "b1", "c1", "b2"]) lanes.add(job[0] ?? "", job);
    expect([lanes.size, lanes.lengthOf("a"), lanes.lengthOf("z")]).toEqual([6, 3, 0]);
    expect(lanes.next()).toBe("a1");
    lanes.add("d", "d1");
    expect(all(lanes)).toEqual(["b1", "c1", "a2", "d1", "b2", "a3"]);
    expect([lanes.size, lanes.lengthOf("a")]).toEqual([0, 0]);
  });

  it("tell how many jobs come before a new one of a lane", () => {
    const jobs = ["a1", "b1", "b2", "b3", "c1", "c2", "c3", "c4"];
    for (const lane of ["a", "b", "c", "new"]) {
      const lanes = createRoundRobin<string>();
      for (const job of jobs) lanes.add(job[0] ?? "", job);
      const ahead = lanes.ahead(lane);
      lanes.add(lane, "last");
      expect([lane, all(lanes).indexOf("last")]).toEqual([lane, ahead]);
    }
  });

  it("drop a cancelled job once, and not one whose turn has come", () => {
    const lanes = createRoundRobin<string>();
    for (const job of ["a1", "b1", "b2"]) lanes.add(job[0] ?? "", job);
    expect([lanes.remove("a", "a1"), lanes.remove("a", "a1"), lanes.remove("b", "other")]).toEqual([
      true,
      false,
      false,
    ]);
    expect(lanes.next()).toBe("b1");
    expect(lanes.remove("b", "b1")).toBe(false);
    expect(all(lanes)).toEqual(["b2"]);
    expect(lanes.size).toBe(0);
  });
});
