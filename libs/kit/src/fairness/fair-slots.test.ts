import { describe, expect, it } from "@jest/globals";
import { fairSlots } from "./fair-slots.ts";

/** Slots, with their holders in the order in which these took one. */
function slots(max: number) {
  const shared = fairSlots(max);
  const holders: string[] = [];
  const wants = (name: string, short = false) => ({ owner: name === "own" ? null : name, short });
  return {
    holders,
    want(name: string, short = false) {
      const begin = () => void holders.push(name);
      if (shared.take(wants(name, short), begin)) begin();
      return begin;
    },
    leave(name: string, short = false) {
      holders.splice(holders.indexOf(name), 1);
      shared.leave(wants(name, short));
    },
    withdraw: (name: string, begin: () => void) => shared.withdraw(wants(name), begin),
    count: () =>
      Object.fromEntries([...new Set(holders)].map((each) => [each, holders.filter((h) => h === each).length])),
    get waiting() {
      return shared.waiting;
    },
  };
}

describe("fair slots", () => {
  it("leave each further owner half of what is left, however much those before want", () => {
    const { want, count } = slots(64);
    for (const owner of ["a", "b", "c", "d"]) for (let i = 0; i < 250; i++) want(owner);
    expect(count()).toEqual({ a: 32, b: 16, c: 8, d: 4 });
  });

  it("serve waiting owners round-robin, each within its share", () => {
    const { want, leave, holders, count } = slots(4);
    for (const owner of ["a", "a", "a", "a", "b", "b", "c"]) want(owner);
    expect(holders).toEqual(["a", "a", "b", "c"]);
    leave("a");
    expect(count()).toEqual({ a: 1, b: 1, c: 1 });
    want("d");
    leave("c");
    expect(count()).toEqual({ a: 1, b: 1, d: 1 });
    leave("b");
    expect(count()).toEqual({ a: 2, b: 1, d: 1 });
  });

  it("leave one slot to others when an owner's short work lasts, and serve its other work, too", () => {
    const { want, leave, count } = slots(4);
    for (let i = 0; i < 9; i++) want("a", true);
    want("a");
    expect(count()).toEqual({ a: 3 });
    want("b");
    want("c");
    expect(count()).toEqual({ a: 3, b: 1 });
    leave("b");
    expect(count()).toEqual({ a: 3, c: 1 });
    for (let i = 0; i < 9; i++) leave("a", true);
    expect(count()).toEqual({ a: 1, c: 1 });
  });

  it("give every second turn to the process's own work, which may take all", () => {
    const { want, leave, holders } = slots(3);
    for (let i = 0; i < 3; i++) want("own");
    for (const owner of ["a", "b", "c", "own", "own", "own"]) want(owner);
    expect(holders).toEqual(["own", "own", "own"]);
    for (let i = 0; i < 3; i++) leave("own");
    expect(holders).toEqual(["own", "a", "own"]);
    leave("a");
    leave("own");
    expect(holders).toEqual(["own", "b", "own"]);
    leave("own");
    leave("own");
    expect(holders).toEqual(["b", "c"]);
  });

  it("give no slot to withdrawn work", () => {
    const shared = slots(1);
    shared.want("a");
    const gone = shared.want("b");
    shared.want("c");
    expect([shared.withdraw("b", gone), shared.withdraw("b", gone), shared.waiting]).toEqual([true, false, 1]);
    shared.leave("a");
    expect(shared.holders).toEqual(["c"]);
  });
});
