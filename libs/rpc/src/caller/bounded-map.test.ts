import { describe, expect, it } from "@jest/globals";
import { BoundedMap } from "./bounded-map.ts";

const keys = (map: BoundedMap<string, number>) => [...map.entries()].map(([key]) => key);

describe("a bounded map", () => {
  it("forgets the oldest entries beyond its number", () => {
    const map = new BoundedMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    map.set("a", 3);
    map.set("c", 4);
    expect(keys(map)).toEqual(["a", "c"]);
    expect([map.get("a"), map.get("b"), map.size]).toEqual([3, undefined, 2]);
  });

  it("forgets the oldest entries beyond its weight, and gets weight back for what is deleted", () => {
    const map = new BoundedMap<string, number>(10, 100);
    map.set("a", 1, 60);
    map.set("b", 2, 40);
    map.delete("b");
    map.set("c", 3, 40);
    expect(keys(map)).toEqual(["a", "c"]);
    map.set("d", 4, 50);
    expect(keys(map)).toEqual(["c", "d"]);
    map.clear();
    map.set("e", 5, 100);
    expect(keys(map)).toEqual(["e"]);
  });
});
