import { afterEach, describe, expect, it } from "@jest/globals";
import { createLogger } from "@muster/kit";
import { until } from "@muster/testing";
import { type Heartbeat, type Lease, startLease } from "./lease.ts";

type Beat = { answer(reply?: Partial<Heartbeat<string>>): void; refuse(): void };

let nowMs = 1_000_000;
let beats: Beat[] = [];
let applied: string[][] = [];
let left = 0;
let mayIdle = true;
let lease: Lease | undefined;

function start(): Lease {
  nowMs = 1_000_000;
  beats = [];
  applied = [];
  left = 0;
  mayIdle = true;
  lease = startLease<string>({
    heartbeat: () =>
      new Promise((resolve, reject) =>
        beats.push({
          answer: (reply = {}) => resolve({ leaseMs: 2_000, changes: [], tooMany: false, ...reply }),
          refuse: () => reject(new Error("away")),
        }),
      ),
    apply: ({ changes }) => applied.push([...changes]),
    leave: async () => {
      left++;
    },
    mayIdle: () => mayIdle,
    onLost: () => undefined,
    log: createLogger("test", "fatal"),
    nowMs: () => nowMs,
    everyMs: 20,
  });
  return lease;
}
/** Lets the loop send its next heartbeat, as if half a second had passed. */
const nextBeat = async (number: number) => {
  nowMs += 500;
  await until(`heartbeat ${number}`, () => beats.length >= number);
};
const settled = () => new Promise((resolve) => setImmediate(resolve));

afterEach(async () => {
  const stopping = lease?.stop();
  for (const beat of beats) beat.refuse();
  await stopping;
});

describe("a lease", () => {
  it("covers no answer before the first acknowledged heartbeat, and none requested before it", async () => {
    const held = start();
    const requestedMs = nowMs;
    expect(held.covers(requestedMs)).toBe(false);
    nowMs += 100;
    beats[0]?.answer();
    await settled();
    expect(held.covers(requestedMs)).toBe(false);
    expect(held.covers(nowMs)).toBe(true);
  });

  it("ends 2 s after the last acknowledged heartbeat was sent, however late its reply arrived", async () => {
    const held = start();
    nowMs += 1_500;
    beats[0]?.answer();
    await settled();
    const requestedMs = nowMs;
    nowMs += 499;
    expect(held.covers(requestedMs)).toBe(true);
    nowMs += 1;
    expect(held.covers(requestedMs)).toBe(false);
  });

  it("continues while heartbeats are answered, and covers answers requested since it started", async () => {
    const held = start();
    beats[0]?.answer();
    await settled();
    const requestedMs = nowMs;
    for (let number = 2; number < 7; number++) {
      await nextBeat(number);
      beats[number - 1]?.answer();
      await settled();
      expect(held.covers(requestedMs)).toBe(true);
    }
  });

  it("does not cover, once lost and renewed, answers requested before", async () => {
    const held = start();
    beats[0]?.answer();
    await settled();
    const requestedMs = nowMs;
    await nextBeat(2);
    // The process was suspended for 5 s and handles requests first.
    nowMs += 5_000;
    expect(held.covers(requestedMs)).toBe(false);
    beats[1]?.answer();
    await settled();
    await nextBeat(3);
    beats[2]?.answer();
    await settled();
    expect(held.covers(requestedMs)).toBe(false);
    expect(held.covers(nowMs)).toBe(true);
  });

  it("takes effect only after the changes in its reply are applied", async () => {
    const held = start();
    beats[0]?.answer({ changes: ["one", "two"] });
    await settled();
    expect(applied).toEqual([["one", "two"]]);
    expect(held.covers(nowMs)).toBe(true);
  });

  it("is returned when the gateway stops", async () => {
    const held = start();
    beats[0]?.answer();
    await settled();
    await held.stop();
    lease = undefined;
    expect([held.covers(nowMs), left]).toEqual([false, 1]);
  });
});

describe("a lease of an idle gateway", () => {
  /** Keeps sending heartbeats without a request until the lease was returned. */
  async function idleLease(): Promise<Lease> {
    const held = start();
    for (let number = 1; left === 0; number++) {
      beats[number - 1]?.answer();
      await settled();
      nowMs += 2_500;
      await until("the next heartbeat or the end", () => beats.length > number || left > 0);
    }
    return held;
  }

  it("is returned after 10 s, and no heartbeat is sent until the next request", async () => {
    await idleLease();
    const sent = beats.length;
    expect(nowMs).toBeGreaterThanOrEqual(1_010_000);
    nowMs += 60_000;
    await settled();
    expect([beats.length, left]).toEqual([sent, 1]);
  });

  it("covers no answer requested before it, and is renewed before identity is called", async () => {
    const held = await idleLease();
    const sent = beats.length;
    expect(held.covers(nowMs)).toBe(false);
    const order: string[] = [];
    const waking = Promise.resolve(held.awake()).then(() => order.push("awake"));
    await until("a heartbeat", () => beats.length > sent);
    order.push("registered");
    beats[sent]?.answer();
    await waking;
    expect(order).toEqual(["registered", "awake"]);
    expect([held.covers(nowMs), held.covers(nowMs - 1)]).toEqual([true, false]);
    expect(held.awake()).toBeNull();
  });

  it("does not block requests when identity does not renew it", async () => {
    const held = await idleLease();
    const sent = beats.length;
    const waking = held.awake();
    await until("a heartbeat", () => beats.length > sent);
    beats[sent]?.refuse();
    await waking;
    expect(held.covers(nowMs)).toBe(false);
  });

  it("is kept while another component depends on changes", async () => {
    start();
    mayIdle = false;
    for (let number = 1; number < 8; number++) {
      beats[number - 1]?.answer();
      await settled();
      nowMs += 2_500;
      await until(`heartbeat ${number + 1}`, () => beats.length > number);
    }
    expect(left).toBe(0);
  });
});

describe("the loss of a lease", () => {
  /** On this process's own clock: timers follow no other. */
  const startShort = (answers: (number: number) => boolean, rests = false) => {
    const events: string[] = [];
    let sent = 0;
    let startedMs = 0;
    lease = startLease<string>({
      heartbeat: async () => {
        sent += 1;
        if (!answers(sent)) throw new Error("away");
        startedMs = performance.now();
        return { leaseMs: 200, changes: [], tooMany: false };
      },
      apply: () => undefined,
      leave: async () => void events.push("left"),
      mayIdle: () => rests,
      onLost: () =>
        void events.push(`lost after ${performance.now() - startedMs < 200 ? "less than" : "at least"} 200 ms`),
      log: createLogger("test", "fatal"),
      everyMs: 20,
    });
    return { events, lease, sent: () => sent };
  };

  it("is reported once, when no heartbeat was answered for the lease's life and the grace", async () => {
    const { events, lease, sent } = startShort((number) => number === 1);
    await until("the lease", () => lease.isHeld());
    await until("its loss", () => events.length > 0);
    expect([lease.isHeld(), events]).toEqual([false, ["lost after at least 200 ms"]]);
    const before = sent();
    await until("further heartbeats", () => sent() > before + 5);
    expect(events).toHaveLength(1);
  });

  it("is not reported while heartbeats are answered, nor when the lease is returned", async () => {
    const { events, lease, sent } = startShort(() => true);
    await until("ten lives of the lease", () => sent() > 100, 20_000);
    await lease.stop();
    expect(events).toEqual(["left"]);
  });

  it("is not reported of a process that stood still and renews immediately", async () => {
    const { events, lease, sent } = startShort(() => true);
    await until("the lease", () => lease.isHeld());
    const endMs = performance.now() + 400;
    while (performance.now() < endMs) {
      // Nothing else runs in this process meanwhile.
    }
    const before = sent();
    await until("it to be renewed", () => sent() > before + 10 && lease.isHeld());
    expect(events).toEqual([]);
  });
});
