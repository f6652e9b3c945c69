import { expect, it } from "@jest/globals";
import { batched } from "./batch.ts";

const loader = (batches: string[][]) =>
  batched(2, async (keys) => {
    batches.push([...keys]);
    if (keys.includes("broken")) throw new Error("not now");
    return new Map(keys.filter((key) => key !== "gone").map((key) => [key, `name of ${key}`]));
  });

it("concurrent keys are requested together, each once, a few at a time", async () => {
  const batches: string[][] = [];
  const load = loader(batches);
  const names = await Promise.all(["a", "b", "a", "gone"].map(load));
  expect(names).toEqual(["name of a", "name of b", "name of a", null]);
  expect(batches).toEqual([["a", "b"], ["gone"]]);
  expect(await load("c")).toBe("name of c");
  expect(batches).toHaveLength(3);
});

it("a failed question fails for its own keys alone", async () => {
  const load = loader([]);
  const [broken, beside, other] = await Promise.allSettled(["broken", "a", "b"].map(load));
  expect([broken?.status, beside?.status, other?.status]).toEqual(["rejected", "rejected", "fulfilled"]);
});
