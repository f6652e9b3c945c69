import { describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { callers } from "@muster/testing";
import { searchPermits } from "./search-permits.ts";

/** Permits; the test sees who holds one, and ends its search. */
function observedPermits(most: number, waitMs = 60_000) {
  const permits = searchPermits(most, waitMs);
  const running = new Map<string, () => void>();
  const search = (name: string) => () => new Promise<void>((resolve) => running.set(name, resolve));
  const callersByOrg = new Map<string, ReturnType<typeof callers.orgAdmin>>();
  return {
    running: () => [...running.keys()],
    /** Begins searches; a name's first letter is its organization. */
    begin(...names: string[]) {
      return names.map((name) => {
        const org = name.slice(0, 1);
        const caller = callersByOrg.get(org) ?? callers.orgAdmin(uuidv7(), uuidv7());
        callersByOrg.set(org, caller);
        return permits.run({ caller }, search(name));
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
  it("leave a permit to other organizations, however many one begins", async () => {
    const { begin, running, end } = observedPermits(3);
    const all = begin("a1", "a2", "a3", "a4", "b1");
    await settled();
    expect(running()).toEqual(["a1", "a2", "b1"]);
    for (const name of ["a1", "a2", "a3", "b1", "a4"]) await end(name);
    await Promise.all(all);
  });

  it("are served round-robin, organization by organization", async () => {
    const { begin, running, end } = observedPermits(1);
    const all = begin("a1", "a2", "a3", "b1", "c1");
    await settled();
    for (const name of ["a1", "a2", "b1", "c1", "a3"]) {
      expect(running()).toEqual([name]);
      await end(name);
    }
    await Promise.all(all);
  });

  it("are refused when they wait too long, and hold no permit afterwards", async () => {
    const { begin, end, running } = observedPermits(1, 1);
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
