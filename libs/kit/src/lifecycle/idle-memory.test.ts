import { describe, expect, it } from "@jest/globals";
import { createCollections, heapNow, shrinkHeap } from "./idle-memory.ts";

const MiB = 1024 * 1024;

/** What a start does: many objects that outlive the next collections. */
function fillYoungGeneration(): object[] {
  const kept: object[] = [];
  do for (let n = 0; n < 10_000; n++) kept.push({ n, text: `object ${n}` });
  while (heapNow().youngBytes <= 4 * MiB);
  return kept;
}

describe("memory of an idle process", () => {
  it("is returned: the young generation is small afterwards, and what is in use stays", async () => {
    const kept = fillYoungGeneration();
    expect(heapNow().youngBytes).toBeGreaterThan(4 * MiB);
    await shrinkHeap();
    expect(heapNow().youngBytes).toBeLessThanOrEqual(2 * MiB);
    expect(kept.at(-1)).toEqual({ n: 9_999, text: "object 9999" });
  });

  const resting = { utilization: 0.01, youngBytes: 8 * MiB, usedBytes: 30 * MiB };

  it.each([
    { process: "that rests with a young generation of 8 MB", heap: resting, isDue: true },
    { process: "that works a tenth of the time", heap: { ...resting, utilization: 0.1 }, isDue: false },
    { process: "with a small young generation", heap: { ...resting, youngBytes: 4 * MiB }, isDue: false },
    { process: "with a heap of 64 MB", heap: { ...resting, usedBytes: 64 * MiB }, isDue: false },
  ])("is returned by a process $process: $isDue", ({ heap, isDue }) => {
    expect(createCollections()(0, heap)).toBe(isDue);
  });

  it("is returned ever more rarely, once an hour in the end, by a process that fills it again and again", () => {
    const isDue = createCollections();
    const collections: number[] = [];
    for (let seconds = 0; seconds <= 6 * 3_600; seconds += 10) {
      if (isDue(seconds * 1_000, resting)) collections.push(seconds);
    }
    const waits = collections.slice(1).map((at, n) => at - (collections[n] ?? 0));
    expect(waits).toEqual([20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600, 3_600, 3_600]);
  });
});
