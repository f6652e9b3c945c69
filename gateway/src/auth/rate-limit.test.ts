import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { AppError, createLogger } from "@muster/kit";
import { until } from "@muster/testing";
import type { Counted, Rate } from "./rate-bucket.ts";
import { createRateLimiter, type Granted, type RateLimiter, refusalMs, type Use, type Want } from "./rate-limit.ts";

const key: Counted = { kind: "key", id: "k1", limit: 1_000, generation: 1 };
const dbMs = 1_700_000_000_400;
const resetAtMs = dbMs + 3_600_000;

type Reservation = {
  wants: readonly Want[];
  answer(...grants: Partial<Granted>[]): void;
  refuse(error: unknown): void;
};

let nowMs: number;
let reservations: Reservation[];
let settled: { sequence: number; uses: Use[] }[];
let settleFails: boolean;
let rates: RateLimiter;

beforeEach(() => {
  nowMs = 1_000_000;
  reservations = [];
  settled = [];
  settleFails = false;
  rates = createRateLimiter({
    reserve: (wants) =>
      new Promise((resolve, reject) =>
        reservations.push({
          wants,
          answer: (...grants) =>
            resolve({
              leaseMs: 1_000,
              nowMs: dbMs,
              grants: grants.map((grant) => ({
                granted: 0,
                remaining: 0,
                slot: 7n,
                resetAtMs,
                retryAtMs: null,
                cacheable: false,
                ...grant,
              })),
            }),
          refuse: reject,
        }),
      ),
    settle: async (sequence, uses) => {
      settled.push({ sequence, uses: [...uses] });
      if (settleFails) throw new AppError("unavailable", "away");
    },
    log: createLogger("test", "fatal"),
    nowMs: () => nowMs,
    // Our clock is an hour slower than the database's.
    now: () => dbMs - 3_600_000 + (nowMs - 1_000_000),
  });
});
afterEach(async () => {
  settleFails = false;
  await rates.stop();
});

const reservation = (number: number) => until(`reservation ${number}`, () => reservations[number - 1]);
const total = (pick: (use: Use) => number) =>
  settled.flatMap(({ uses }) => uses).reduce((sum, use) => sum + pick(use), 0);

describe("counting", () => {
  it("sends one grant request for all that arrive together, of all credentials", async () => {
    const waiting = [rates.count(key), rates.count(key), rates.count({ ...key, id: "k2" })];
    const { wants, answer } = await reservation(1);
    expect(wants.map(({ id, waiting }) => [id, waiting])).toEqual([
      ["k1", 2],
      ["k2", 1],
    ]);
    answer({ granted: 2, remaining: 998 }, { granted: 1, remaining: 0 });
    const found = await Promise.all(waiting);
    expect(found.map(({ admitted, remaining }) => [admitted, remaining])).toEqual([
      [true, 999],
      [true, 998],
      [true, 0],
    ]);
  });

  it("admits exactly what was granted, first come first served", async () => {
    const waiting = Array.from({ length: 5 }, () => rates.count(key));
    (await reservation(1)).answer({ granted: 3, retryAtMs: resetAtMs, cacheable: true });
    const found = await Promise.all(waiting);
    expect(found.map(({ admitted }) => admitted)).toEqual([true, true, true, false, false]);
    for (const { remaining, resetSeconds, afterSeconds } of found.slice(3)) {
      // By the database's clock, whole seconds: 1_700_003_600.4 is reached at …601, which would be more than an hour
      // from …000.
      expect([remaining, resetSeconds, afterSeconds]).toEqual([0, 1_700_003_600, 3_600]);
    }
  });

  it("spends prefetched grants without a call, for one second from before the grant request was sent", async () => {
    const first = rates.count(key);
    const { answer } = await reservation(1);
    nowMs += 400;
    answer({ granted: 11, remaining: 500 });
    await first;
    nowMs += 299;
    expect(rates.count(key)).toMatchObject({ admitted: true, remaining: 509 });
    nowMs += 301;
    expect(rates.count(key)).toBeInstanceOf(Promise);
    (await reservation(reservations.length)).answer({ granted: 1, remaining: 1 });
    await until("the unspent to be returned", () => total(({ unspent }) => unspent) === 9);
  });

  it("renews the grants of credentials in steady use with the first one that needs a call", async () => {
    const both = () => ["k1", "k2"].map((id) => rates.count({ ...key, id }));
    const first = both();
    (await reservation(1)).answer({ granted: 3, remaining: 500 }, { granted: 3, remaining: 500 });
    await Promise.all(first);
    for (let round = 2; round <= 3; round++) {
      await until("their use to be settled", () => total(({ used }) => used) === 2 * (round - 1));
      for (const rate of both()) expect(rate).toMatchObject({ admitted: true });
    }
    await until("their use to be settled", () => total(({ used }) => used) === 6);
    nowMs += 200;
    const early = rates.count({ ...key, id: "k3" });
    expect((await reservation(2)).wants.map(({ id }) => id)).toEqual(["k3"]);
    reservations[1]?.answer({ granted: 1, remaining: 9 });
    await early;
    nowMs += 200;
    const late = rates.count({ ...key, id: "k4" });
    const { wants, answer } = await reservation(3);
    expect(wants.map(({ id, waiting }) => [id, waiting])).toEqual([
      ["k4", 1],
      ["k1", 0],
      ["k2", 0],
    ]);
    answer({ granted: 1 }, { granted: 3, remaining: 400 }, { granted: 3, remaining: 400 });
    await late;
    nowMs += 600;
    expect(rates.count(key)).toMatchObject({ admitted: true });
    expect(reservations).toHaveLength(3);
  });

  it("repeats a final refusal without a call, for at most 5 s, and not after a change", async () => {
    const first = rates.count(key);
    (await reservation(1)).answer({ retryAtMs: resetAtMs, cacheable: true });
    expect((await first).admitted).toBe(false);
    nowMs += refusalMs - 1;
    expect(rates.count(key)).toMatchObject({ admitted: false, afterSeconds: 3_601 - 5 });
    rates.changed("k1");
    const second = rates.count(key);
    expect(second).toBeInstanceOf(Promise);
    (await reservation(2)).answer({ retryAtMs: resetAtMs, cacheable: true });
    await second;
    // Raised.
    const raised = rates.count({ ...key, limit: 2_000 });
    (await reservation(3)).answer({ granted: 1, remaining: 999 });
    expect(await raised).toMatchObject({ admitted: true, limit: 2_000 });
  });

  it("requests a grant again immediately after a refusal that is not final", async () => {
    const first = rates.count(key);
    (await reservation(1)).answer({ retryAtMs: dbMs + 900 });
    const rate: Rate = await first;
    expect(rate).toMatchObject({ admitted: false, afterSeconds: 2, resetSeconds: 1_700_000_002 });
    const second = rates.count(key);
    (await reservation(2)).answer({ granted: 1 });
    expect((await second).admitted).toBe(true);
  });

  it("spends nothing of a grant that arrived after its expiry, and returns it", async () => {
    const first = rates.count(key);
    const { answer } = await reservation(1);
    nowMs += 1_000;
    answer({ granted: 1, remaining: 9 });
    (await reservation(2)).answer({ granted: 1, remaining: 8 });
    expect((await first).admitted).toBe(true);
    await until("both to be settled", () => total(({ unspent }) => unspent) === 1);
  });

  it("answers unavailable when identity does, and recovers afterwards", async () => {
    const first = rates.count(key);
    (await reservation(1)).refuse(new AppError("unavailable", "away", { retryAfterSeconds: 1 }));
    await expect(first).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
    const second = rates.count(key);
    (await reservation(2)).answer({ granted: 1 });
    expect((await second).admitted).toBe(true);
  });
});

describe("settling", () => {
  it("reports use once, and repeats the same settlement until it is acknowledged", async () => {
    settleFails = true;
    const waiting = [rates.count(key), rates.count(key)];
    (await reservation(1)).answer({ granted: 2 });
    await Promise.all(waiting);
    await until("a second try", () => settled.length >= 2);
    settleFails = false;
    const [first, second] = settled;
    expect(second).toEqual(first);
    expect(first).toMatchObject({ sequence: 1, uses: [{ id: "k1", used: 2, generation: 1 }] });
  });

  it("keeps the use of an older generation apart from that of the new one", async () => {
    const before = rates.count(key);
    (await reservation(1)).answer({ granted: 3 });
    await before;
    await rates.count({ ...key, generation: 2 });
    await rates.count({ ...key, generation: 2 });
    await rates.stop();
    const uses = settled.flatMap(({ uses }) => uses).filter(({ used }) => used > 0);
    expect(uses.map(({ generation, used }) => [generation, used]).sort()).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  it("returns everything when the gateway stops", async () => {
    const first = rates.count(key);
    (await reservation(1)).answer({ granted: 10 });
    await first;
    await rates.stop();
    expect(total(({ unspent }) => unspent)).toBe(9);
  });
});
