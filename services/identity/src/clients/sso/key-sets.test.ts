import { describe, expect, it } from "@jest/globals";
import { keySets } from "./key-sets.ts";

function provider() {
  let nowMs = 0;
  const fetches: number[] = [];
  let kids = ["a"];
  const sets = keySets({ max: 2, now: () => nowMs });
  return {
    fetches,
    pass: (ms: number) => {
      nowMs += ms;
    },
    rotate: (next: string[]) => {
      kids = next;
    },
    get: (kid: string | null, key = "p1") =>
      sets.get(key, kid, async () => {
        fetches.push(nowMs);
        return new Response(JSON.stringify({ keys: kids.map((each) => ({ kid: each })) }));
      }),
  };
}

describe("a provider's keys", () => {
  it("are fetched once in ten minutes while tokens name one of them", async () => {
    const { get, pass, fetches } = provider();
    await get("a");
    pass(599_000);
    await get("a");
    await get(null);
    expect(fetches).toEqual([0]);
    pass(1_000);
    await get("a");
    expect(fetches).toEqual([0, 600_000]);
  });

  it("are fetched once for many concurrent tokens of a new key, and all of them get it", async () => {
    const { get, rotate, fetches } = provider();
    await get("a");
    rotate(["a", "b"]);
    const sets = await Promise.all(Array.from({ length: 6 }, () => get("b")));
    for (const set of sets) expect(set).toContain('"b"');
    expect(fetches).toHaveLength(2);
  });

  it("are fetched again when a token names another key, at once after a rotation", async () => {
    const { get, rotate, pass, fetches } = provider();
    await get("a");
    pass(1_000);
    rotate(["b"]);
    expect(await get("b")).toContain('"b"');
    expect(fetches).toEqual([0, 1_000]);
  });

  it("are fetched at most once a minute for unknown key ids", async () => {
    const { get, pass, fetches } = provider();
    await get("a");
    for (let i = 0; i < 50; i++) await get(`invented-${i}`);
    expect(fetches).toEqual([0, 0]);
    pass(60_000);
    await get("invented");
    expect(fetches).toEqual([0, 0, 60_000]);
  });

  it("are fetched once for many concurrent requests", async () => {
    const { get, fetches } = provider();
    await Promise.all(Array.from({ length: 20 }, () => get("a")));
    expect(fetches).toEqual([0]);
  });

  it("are evicted first for the least recently used provider", async () => {
    const { get, fetches } = provider();
    for (const key of ["p1", "p2", "p3", "p1"]) await get("a", key);
    expect(fetches).toHaveLength(4);
  });

  it("are not cached when invalid", async () => {
    const sets = keySets({ max: 2 });
    await expect(sets.get("p", "a", async () => new Response("{}"))).rejects.toThrow("no key set");
    await expect(sets.get("p", "a", async () => new Response("", { status: 500 }))).rejects.toThrow("500");
    await expect(sets.get("p", "a", async () => Response.json({ keys: [] }))).resolves.toContain("keys");
  });
});
