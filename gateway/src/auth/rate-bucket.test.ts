import { describe, expect, it } from "@jest/globals";
import { createBucket, demandOf, runsLow, spend } from "./rate-bucket.ts";

const lifeMs = 2_000;

/**
 * Simulates a credential at a constant request rate whose grant requests are all answered immediately and in full,
 * until identity becomes unavailable after `goneMs`. Returns how long requests are admitted from then on, and the
 * number of grant requests before.
 */
function afterLoss(perSecond: number, goneMs: number): { lastsMs: number; requested: number } {
  const bucket = createBucket({ kind: "key", id: "k", limit: 1_000_000, generation: 1 });
  const everyMs = 1_000 / perSecond;
  let requested = 0;
  for (let nowMs = 0; ; nowMs += everyMs) {
    const isThere = nowMs < goneMs;
    if (!spend(bucket, nowMs, nowMs)) {
      if (!isThere) return { lastsMs: nowMs - goneMs, requested };
      const granted = 1 + demandOf(bucket, nowMs, lifeMs);
      requested += 1;
      bucket.lents.push({ slot: 0n, left: granted, endsAtMs: nowMs + lifeMs });
      spend(bucket, nowMs, nowMs);
    } else if (isThere && bucket.ahead > 0 && runsLow(bucket, nowMs, lifeMs)) {
      requested += 1;
      bucket.lents.push({ slot: 0n, left: demandOf(bucket, nowMs, lifeMs), endsAtMs: nowMs + lifeMs });
    }
  }
}

describe("granted and unspent requests", () => {
  it.each([2, 3, 10, 40, 200, 2_000])(
    "last half of a grant's life when identity goes away, at %d a second",
    (perSecond) => {
      for (let goneMs = 10_000; goneMs < 12_000; goneMs += 37) {
        expect(afterLoss(perSecond, goneMs).lastsMs).toBeGreaterThanOrEqual(lifeMs / 2);
      }
    },
  );

  it("are at most a twentieth of the limit, however many are requested", () => {
    const bucket = createBucket({ kind: "key", id: "k", limit: 1_000, generation: 1 });
    bucket.sinceRequested = 10_000;
    bucket.requestedAtMs = 0;
    expect(demandOf(bucket, 1_000, lifeMs)).toBe(50);
  });

  it.each([10, 40, 200, 2_000])("cost at most three grant requests a second at %d a second", (perSecond) => {
    expect(afterLoss(perSecond, 20_000).requested / 20).toBeLessThanOrEqual(3);
  });
});
