import { describe, expect, it } from "@jest/globals";
import type { Waiting } from "./hashing-queue.ts";
import { hashingQueue } from "./hashing-queue.ts";

/** Work that ends when the test releases it. */
function works() {
  const ends: (() => void)[] = [];
  return {
    work: (name: string, done: string[]) => () =>
      new Promise<void>((resolve) =>
        ends.push(() => {
          done.push(name);
          resolve();
        }),
      ),
    /** Ends the oldest that runs, and lets the next begin. */
    async end() {
      ends.shift()?.();
      await new Promise(setImmediate);
    },
    get running() {
      return ends.length;
    },
  };
}

const never = new AbortController().signal;
const from = (clientAddress: string | null, deadlineMs: number | null = null, signal = never): Waiting => ({
  deadlineMs,
  signal,
  meta: { clientAddress },
});
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "done",
    (error: { code?: string }) => error.code,
  );

describe("the queue of password checks", () => {
  it("runs a limited number at a time, round-robin by address, however many checks one of them sent", async () => {
    const { work, end } = works();
    const done: string[] = [];
    const queue = hashingQueue({ concurrency: 1, queueMax: 20 });
    const all = [
      ...["a1", "a2", "a3", "a4"].map((name) => queue.run(work(name, done), from("a"))),
      queue.run(work("b1", done), from("b")),
      queue.run(work("c1", done), from("c")),
    ];
    for (let i = 0; i < 6; i++) await end();
    await Promise.all(all);
    expect(done).toEqual(["a1", "a2", "b1", "c1", "a3", "a4"]);
  });

  it("counts a /64 of IPv6 as one address: more addresses of one network get no larger share", async () => {
    const { work, end } = works();
    const done: string[] = [];
    const queue = hashingQueue({ concurrency: 1, queueMax: 20 });
    const all = [
      ...["1", "2", "3", "4"].map((at) => queue.run(work(`v6-${at}`, done), from(`2001:db8::${at}`))),
      queue.run(work("other", done), from("192.0.2.1")),
    ];
    for (let i = 0; i < 5; i++) await end();
    await Promise.all(all);
    expect(done).toEqual(["v6-1", "v6-2", "other", "v6-3", "v6-4"]);
  });

  it("refuses with Retry-After when it is full, and one address may fill half of it", async () => {
    const { work, end } = works();
    const queue = hashingQueue({ concurrency: 1, queueMax: 4 });
    const started = ["running", "a", "a"].map((who) => codeOf(queue.run(work(who, []), from(who))));
    await expect(queue.run(work("a", []), from("a"))).rejects.toMatchObject({
      code: "overloaded",
      retryAfterSeconds: expect.any(Number),
    });
    started.push(...["b", "c"].map((who) => codeOf(queue.run(work(who, []), from(who)))));
    expect(await codeOf(queue.run(work("d", []), from("d")))).toBe("overloaded");
    for (let i = 0; i < 5; i++) await end();
    expect(await Promise.all(started)).toEqual(["done", "done", "done", "done", "done"]);
  });

  it("leaves room for a third address when two have queued all they may", async () => {
    const { work, end } = works();
    const queue = hashingQueue({ concurrency: 1, queueMax: 8 });
    const flood = ["a", "b"].flatMap((who) =>
      Array.from({ length: 9 }, () => codeOf(queue.run(work(who, []), from(who)))),
    );
    const third = codeOf(queue.run(work("c", []), from("c")));
    for (let i = 0; i < 9; i++) await end();
    expect(await third).toBe("done");
    expect((await Promise.all(flood)).filter((code) => code === "done")).toHaveLength(7);
  });

  it("drops checks whose caller disconnected, without running them, and starts the next", async () => {
    const { work, end } = works();
    const done: string[] = [];
    const queue = hashingQueue({ concurrency: 1, queueMax: 10 });
    const leaving = new AbortController();
    const first = queue.run(work("first", done));
    const gone = codeOf(queue.run(work("gone", done), from("a", null, leaving.signal)));
    const third = queue.run(work("third", done), from("b"));
    leaving.abort();
    expect(await gone).toBe("deadline_exceeded");
    await end();
    await end();
    await Promise.all([first, third]);
    expect(done).toEqual(["first", "third"]);
  });

  it("refuses at once a check that could not start before its deadline", async () => {
    const { work, end } = works();
    const queue = hashingQueue({ concurrency: 1, queueMax: 10 });
    const slow = queue.run(() => new Promise((resolve) => setTimeout(resolve, 60)));
    await slow;
    const running = queue.run(work("running", []));
    expect(await codeOf(queue.run(work("late", []), from("a", performance.now() + 20)))).toBe("overloaded");
    const patient = codeOf(queue.run(work("patient", []), from("a", performance.now() + 60_000)));
    await end();
    await end();
    await running;
    expect(await patient).toBe("done");
  });

  it("estimates with the configured duration until one was measured, so that the queue is bounded from the start", async () => {
    const { work, end } = works();
    const queue = hashingQueue({ concurrency: 1, queueMax: 100, expectedMs: 1_000 });
    const within = () => from("a", performance.now() + 3_500);
    const codes = Array.from({ length: 10 }, () => codeOf(queue.run(work("x", []), within())));
    for (let i = 0; i < 3; i++) await end();
    expect((await Promise.all(codes)).filter((code) => code === "done")).toHaveLength(3);
  });

  it("refuses no address for the backlog of others: it starts before most of that", async () => {
    const { work, end } = works();
    const done: string[] = [];
    const queue = hashingQueue({ concurrency: 1, queueMax: 200, expectedMs: 1_000 });
    const within = (address: string) => from(address, performance.now() + 10_000);
    const flood = Array.from({ length: 60 }, () => codeOf(queue.run(work("flood", done), within("a"))));
    const other = codeOf(queue.run(work("other", done), within("b")));
    for (let i = 0; i < 12; i++) await end();
    expect(await other).toBe("done");
    expect(done.indexOf("other")).toBeLessThan(3);
    expect((await Promise.all(flood)).filter((code) => code === "overloaded").length).toBeGreaterThan(45);
  });

  it("does not measure refused work: the estimate is the duration of real work", async () => {
    const { work, end } = works();
    const queue = hashingQueue({ concurrency: 1, queueMax: 100, expectedMs: 1_000 });
    const refused = () => Promise.reject(Object.assign(new Error("no"), { code: "rate_limited" }));
    for (let i = 0; i < 50; i++) expect(await codeOf(queue.run(refused))).toBe("rate_limited");
    const running = queue.run(work("running", []));
    expect(await codeOf(queue.run(work("late", []), from("a", performance.now() + 900)))).toBe("overloaded");
    await end();
    await running;
  });

  it("continues after failed work", async () => {
    const queue = hashingQueue({ concurrency: 1, queueMax: 10 });
    const failing = codeOf(queue.run(() => Promise.reject(Object.assign(new Error("no"), { code: "failed" }))));
    const next = codeOf(queue.run(() => Promise.resolve()));
    expect(await Promise.all([failing, next])).toEqual(["failed", "done"]);
  });
});
