import { describe, expect, it } from "@jest/globals";
import { heapNow, shrinkHeap } from "./memory-at-rest.ts";

const MiB = 1024 * 1024;

/** What a start does: many objects that outlive the next collections. */
function fillYoungGeneration(): object[] {
  const kept: object[] = [];
  do for (let n = 0; n < 10_000; n++) kept.push({ n, text: `object ${n}` });
  while (heapNow().youngBytes <= 4 * MiB);
  return kept;
}

describe("memory of a process at rest", () => {
  it("is returned: the young generation is small afterwards, and what is in use stays", async () => {
    const kept = fillYoungGeneration();
    expect(heapNow().youngBytes).toBeGreaterThan(4 * MiB);
    await shrinkHeap();
    expect(heapNow().youngBytes).toBeLessThanOrEqual(2 * MiB);
    expect(kept.at(-1)).toEqual({ n: 9_999, text: "object 9999" });
  });
});
