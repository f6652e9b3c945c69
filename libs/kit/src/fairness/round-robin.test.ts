import { describe, expect, it } from "@jest/globals";
import { createRoundRobin } from "./round-robin.ts";

const all = <J>(queues: { next(): J | undefined }) => {
  const taken: J[] = [];
  for (let job = queues.next(); job !== undefined; job = queues.next()) taken.push(job);
  return taken;
};

describe("queues", () => {
  it("are served round-robin, each in its own order", () => {
    const queues = createRoundRobin<string>();
    for (const job of ["a1", "a2", "a3", "b1", "c1", "b2"]) queues.add(job[0] ?? "", job);
    expect([queues.size, queues.lengthOf("a"), queues.lengthOf("z")]).toEqual([6, 3, 0]);
    expect(queues.next()).toBe("a1");
    queues.add("d", "d1");
    expect(all(queues)).toEqual(["b1", "c1", "a2", "d1", "b2", "a3"]);
    expect([queues.size, queues.lengthOf("a")]).toEqual([0, 0]);
  });

  it("tell how many jobs come before a new one of a queue", () => {
    const jobs = ["a1", "b1", "b2", "b3", "c1", "c2", "c3", "c4"];
    for (const queue of ["a", "b", "c", "new"]) {
      const queues = createRoundRobin<string>();
      for (const job of jobs) queues.add(job[0] ?? "", job);
      const ahead = queues.ahead(queue);
      queues.add(queue, "last");
      expect([queue, all(queues).indexOf("last")]).toEqual([queue, ahead]);
    }
  });

  it("drop a cancelled job once, and not one whose turn has come", () => {
    const queues = createRoundRobin<string>();
    for (const job of ["a1", "b1", "b2"]) queues.add(job[0] ?? "", job);
    expect([queues.remove("a", "a1"), queues.remove("a", "a1"), queues.remove("b", "other")]).toEqual([
      true,
      false,
      false,
    ]);
    expect(queues.next()).toBe("b1");
    expect(queues.remove("b", "b1")).toBe(false);
    expect(all(queues)).toEqual(["b2"]);
    expect(queues.size).toBe(0);
  });
});
