import { describe, expect, it } from "@jest/globals";
import { createCounts, shareIn, shareOf } from "./counts.ts";

describe("counts", () => {
  it("are kept by key and in all, and forget keys without a count", () => {
    const held = createCounts();
    for (const [key, change] of [
      ["a", 1],
      ["b", 2],
      ["a", 3],
      ["b", -2],
    ] as const) {
      held.add(key, change);
    }
    expect([held.of("a"), held.of("b"), held.of("c"), held.total]).toEqual([4, 0, 0, 4]);
    expect([...held.keys()]).toEqual(["a"]);
  });
});

describe("a share", () => {
  it("is half of what the others leave, rounded up, and never negative", () => {
    expect([shareOf(8), shareOf(7), shareOf(1), shareOf(0), shareOf(-3)]).toEqual([4, 4, 1, 0, 0]);
  });

  it("leaves room to each further holder", () => {
    const held = createCounts();
    held.add("a", 4);
    expect([shareIn(held, "a", 8), shareIn(held, "b", 8)]).toEqual([4, 2]);
    held.add("b", 2);
    expect([shareIn(held, "a", 8), shareIn(held, "b", 8), shareIn(held, "c", 8)]).toEqual([3, 2, 1]);
  });
});
