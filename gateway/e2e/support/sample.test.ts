import { describe, expect, it } from "@jest/globals";
import { sampleOf } from "./sample.ts";

const items = Array.from({ length: 1_000 }, (_, at) => ({ at, route: `route ${at % 100}`, actor: `actor ${at % 7}` }));
const strataOf = ({ route, actor }: (typeof items)[number]) => [route, actor];
const of = (by: string, oneIn = 5) => sampleOf(items, oneIn, strataOf, by);

describe("a sample", () => {
  it("is the whole where no seed is given", () => {
    expect(sampleOf(items, 5, strataOf, null)).toEqual(items);
  });

  it("is one in five, in the order of the items", () => {
    const chosen = of("1");
    expect(chosen).toHaveLength(200);
    expect(chosen.map(({ at }) => at)).toEqual(chosen.map(({ at }) => at).sort((a, b) => a - b));
  });

  it("is the same for a seed and another for another", () => {
    expect(of("1")).toEqual(of("1"));
    expect(of("1")).not.toEqual(of("2"));
  });

  it("meets each stratum, also where its share is smaller than their number", () => {
    const chosen = of("3", 500);
    expect(new Set(chosen.map(({ route }) => route)).size).toBe(100);
    expect(new Set(chosen.map(({ actor }) => actor)).size).toBe(7);
    expect(chosen.length).toBeLessThan(120);
  });

  it("meets every item within some seeds", () => {
    const met = new Set(Array.from({ length: 60 }, (_, n) => of(String(n))).flatMap((one) => one.map(({ at }) => at)));
    expect(met.size).toBe(items.length);
  });
});
