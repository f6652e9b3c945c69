import { describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { callers } from "@muster/testing";
import { searchSlots } from "./search-slots.ts";

/** Slots of which the test sees who holds one, and ends its search. */
function slotsOf(most: number, waitMs = 60_000) {
  const slots = searchSlots(most, waitMs);
  const running = new Map<string, () => void>();
  const search = (name: string) => () => new Promise<void>((resolve) => running.set(name, resolve));
  const whose = new Map<string, ReturnType<typeof callers.orgAdmin>>();
  return {
    running: () => [...running.keys()],
    /** Searches of the organization that the name begins with. */
    begin(...names: string[]) {
      return names.map((name) => {
        const org = name.slice(0, 1);
        const caller = whose.get(org) ?? callers.orgAdmin(uuidv7(), uuidv7());
        whose.set(org, caller);
        return slots.run({ caller }, search(name));
      });
    },
    async end(name: string) {
      running.get(name)?.();
      running.delete(name);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("searches", () => {
  it("of one organization leave a slot to others, however many it begins", async () => {
    const { begin, running, end } = slotsOf(3);
    const all = begin("a1", "a2", "a3", "a4", "b1");
    await settled();
    expect(running()).toEqual(["a1", "a2", "b1"]);
    for (const name of ["a1", "a2", "a3", "b1", "a4"]) await end(name);
    await Promise.all(all);
  });

  it("that wait take turns, organization by organization", async () => {
    const { begin, running, end } = slotsOf(1);
    const all = begin("a1", "a2", "a3", "b1", "c1");
    await settled();
    for (const name of ["a1", "a2", "b1", "c1", "a3"]) {
      expect(running()).toEqual([name]);
      await end(name);
    }
    await Promise.all(all);
  });

  it("that wait too long are refused, and hold no slot afterwards", async () => {
    const { begin, end, running } = slotsOf(1, 1);
    const [first, second] = begin("a1", "b1");
    await expect(second).rejects.toMatchObject({ code: "overloaded", retryAfterSeconds: 1 });
    await end("a1");
    await first;
    const [third] = begin("c1");
    await settled();
    expect(running()).toEqual(["c1"]);
    await end("c1");
    await third;
  });
});
