import { Session } from "node:inspector/promises";
import { performance } from "node:perf_hooks";
import { getHeapSpaceStatistics } from "node:v8";
import { type Repeating, repeatEvery } from "../timing/repeat.ts";

/** Interval in milliseconds at which a process checks whether it is idle. */
const lookMs = 10_000;
/** Longest wait between two collections, in milliseconds. */
const longestWaitMs = 3_600_000;
/** Share of the time that an idle event loop works at most. */
const idleShare = 0.05;
/** Bytes of the young generation that are not worth a collection. */
const smallBytes = 4 * 1024 * 1024;
/** Bytes of a heap whose collections would hold requests up for longer than about 200 ms. */
const largeHeapBytes = 64 * 1024 * 1024;

const isYoung = (name: string) => name === "new_space" || name === "new_large_object_space";

/** Bytes that the young generation has taken, and bytes that the whole heap uses. */
export function heapNow(): { youngBytes: number; usedBytes: number } {
  let [youngBytes, usedBytes] = [0, 0];
  for (const { space_name: name, space_size: size, space_used_size: used } of getHeapSpaceStatistics()) {
    if (isYoung(name)) youngBytes += size;
    usedBytes += used;
  }
  return { youngBytes, usedBytes };
}

/**
 * Collects as V8 does under memory pressure, which shrinks the young generation to its first size; `gc()` does not.
 * Takes 50 to 200 ms of a heap of 20 to 60 MB, and nothing else runs meanwhile.
 */
export async function shrinkHeap(): Promise<void> {
  const session = new Session();
  session.connect();
  try {
    await session.post("HeapProfiler.collectGarbage");
  } finally {
    session.disconnect();
  }
}

type IdleHeap = { utilization: number; youngBytes: number; usedBytes: number };

/**
 * Whether a process is to collect now: its event loop works less than a twentieth of the time, its young generation is
 * not small, and its heap is under 64 MB. The wait after a collection is twice the one before, an hour at most: a
 * process that fills its young generation while it rests does so again, and loses compiled code in each collection.
 */
export function createCollections(): (nowMs: number, heap: IdleHeap) => boolean {
  let waitMs = lookMs;
  let nextMs = Number.NEGATIVE_INFINITY;
  return (nowMs, { utilization, youngBytes, usedBytes }) => {
    if (nowMs < nextMs || utilization > idleShare) return false;
    if (youngBytes <= smallBytes || usedBytes >= largeHeapBytes) return false;
    waitMs = Math.min(2 * waitMs, longestWaitMs);
    nextMs = nowMs + waitMs;
    return true;
  };
}

/**
 * Gives back what a start or a burst of requests left of the young generation, three times `--max-semi-space-size` at
 * most, which V8 keeps for ever otherwise.
 */
export function shrinkWhenIdle(onFailure: (error: unknown) => void): Repeating {
  const isDue = createCollections();
  let before = performance.eventLoopUtilization();
  const look = async () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (isDue(performance.now(), { utilization, ...heapNow() })) await shrinkHeap();
  };
  return repeatEvery(lookMs, look, onFailure);
}
