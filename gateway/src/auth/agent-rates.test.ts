import { describe, expect, it } from "@jest/globals";
import { createAgentRates } from "./agent-rates.ts";
import type { Counted, Rate } from "./rate-bucket.ts";

describe("the hourly limit of agents", () => {
  let nowMs = Date.parse("2026-01-01T00:00:00Z");
  const reserved: Counted[] = [];
  const rates = createAgentRates({
    rates: {
      count(credential) {
        reserved.push(credential);
        const admitted = reserved.length <= 2;
        return { admitted, limit: credential.limit, remaining: 0, resetSeconds: 1, afterSeconds: 1 };
      },
    },
    limit: 300,
    perMinute: 60,
    max: 10,
    now: () => nowMs,
  });

  it("counts the first hundredth by itself and leases the rest of the limit", () => {
    const remaining = Array.from({ length: 3 }, () => rates.count("a")).map(
      (rate) => (rate as { remaining: number }).remaining,
    );
    expect([remaining, reserved]).toEqual([[299, 298, 297], []]);
    expect(rates.count("a")).toMatchObject({ admitted: true, limit: 300 });
    expect(reserved).toEqual([{ kind: "agent", id: "a", limit: 297, generation: 0 }]);
    expect(rates.count("a")).toMatchObject({ admitted: true });
    expect(rates.count("a")).toMatchObject({ admitted: false, limit: 300 });
    expect(rates.count("b")).toMatchObject({ admitted: true, remaining: 299, afterSeconds: 3_600 });
  });

  it("never says to wait for more than 3,600 s, whatever fraction of a second it is", () => {
    nowMs += 500;
    expect(rates.count("c")).toMatchObject({ admitted: true, afterSeconds: 3_600 });
    nowMs -= 500;
  });

  it("starts again after an hour", () => {
    nowMs += 3_600_000;
    expect(rates.count("a")).toMatchObject({ admitted: true, remaining: 299 });
  });

  it("admits a burst of a minute's requests, then refills over time, separately for each agent", () => {
    let atMs = 0;
    const endless = { admitted: true, limit: 1, remaining: 1, resetSeconds: 1, afterSeconds: 1 };
    const leased = { count: () => endless };
    const within = createAgentRates({ rates: leased, limit: 100_000, perMinute: 120, max: 10, now: () => atMs });
    const count = (id: string) => within.count(id) as Rate;
    for (let n = 0; n < 120; n++) expect(count("a").admitted).toBe(true);
    expect(count("a")).toMatchObject({ admitted: false, limit: 100_000, afterSeconds: 1 });
    expect(count("b").admitted).toBe(true);
    atMs += 1_000;
    expect([1, 2, 3].map(() => count("a").admitted)).toEqual([true, true, false]);
    atMs += 3_600_000;
    expect(count("a").admitted).toBe(true);
  });
});
