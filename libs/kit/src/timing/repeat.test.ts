import { describe, expect, it } from "@jest/globals";
import { keepWorking, repeatEvery } from "./repeat.ts";

const settled = async () => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** A task whose runs end when the test ends them. */
function held() {
  const ends: ((error?: Error) => void)[] = [];
  const task = () => new Promise<void>((resolve, reject) => ends.push((error) => (error ? reject(error) : resolve())));
  return { task, ends };
}

async function untilRuns(ends: readonly unknown[], count: number): Promise<void> {
  while (ends.length < count) await new Promise((resolve) => setImmediate(resolve));
}

describe("a task that is repeated", () => {
  it("never runs twice at once, and goes on after a failure", async () => {
    const { task, ends } = held();
    const failures: unknown[] = [];
    const repeating = repeatEvery(1, task, (error) => failures.push(error));
    // Keeps the process alive: the timer of the task does not.
    const alive = setInterval(() => undefined, 1);
    await untilRuns(ends, 1);
    const before = performance.now();
    while (performance.now() - before < 20) await settled();
    expect(ends).toHaveLength(1);
    ends[0]?.(new Error("away"));
    await untilRuns(ends, 2);
    expect(failures).toEqual([new Error("away")]);
    ends[1]?.();
    await untilRuns(ends, 3);
    ends[2]?.();
    await repeating.stop();
    clearInterval(alive);
  });

  it("is over when stop resolves: a run in progress has ended, and none follows", async () => {
    const { task, ends } = held();
    const repeating = repeatEvery(1, task, () => undefined);
    const alive = setInterval(() => undefined, 1);
    await untilRuns(ends, 1);
    let stopped = false;
    const stopping = repeating.stop().then(() => {
      stopped = true;
    });
    await settled();
    expect(stopped).toBe(false);
    ends[0]?.();
    await stopping;
    const before = performance.now();
    while (performance.now() - before < 20) await settled();
    expect(ends).toHaveLength(1);
    clearInterval(alive);
  });
});

describe("a task that is worked on until stopped", () => {
  it("runs at once, and again after a failure", async () => {
    const { task, ends } = held();
    const failures: unknown[] = [];
    const working = keepWorking(1, task, (error) => failures.push(error));
    expect(ends).toHaveLength(1);
    ends[0]?.(new Error("away"));
    await untilRuns(ends, 2);
    expect(failures).toEqual([new Error("away")]);
    ends[1]?.();
    const stopped = working.stop();
    ends[2]?.();
    await stopped;
  });

  it("is notified of the stop, and is waited for", async () => {
    let ended = false;
    const working = keepWorking(
      60_000,
      (signal) =>
        new Promise<void>((resolve) =>
          signal.addEventListener("abort", () => {
            ended = true;
            resolve();
          }),
        ),
      () => undefined,
    );
    await working.stop();
    expect(ended).toBe(true);
  });

  it("does not wait for its next run when it is stopped between two", async () => {
    const working = keepWorking(
      600_000,
      async () => undefined,
      () => undefined,
    );
    await settled();
    await working.stop();
  });
});
