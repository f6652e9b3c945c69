import { EventEmitter } from "node:events";
import { describe, expect, it, jest } from "@jest/globals";
import type { AppError } from "@muster/kit";
import { createDirectorySlots } from "./directory-slots.ts";

const response = () => new EventEmitter() as never as Parameters<ReturnType<typeof createDirectorySlots>["enter"]>[1];

/** Names of requests in the order in which they start. */
function entering(slots: ReturnType<typeof createDirectorySlots>, started: string[]) {
  return (directoryId: string, name: string, of = response()) => {
    const waits = slots.enter(directoryId, of);
    if (waits === null) started.push(name);
    return waits?.then(() => void started.push(name)) ?? Promise.resolve();
  };
}

describe("requests of a directory", () => {
  it("start in order, as many concurrently as are permitted, and those of others at once", async () => {
    const slots = createDirectorySlots(2);
    const started: string[] = [];
    const enter = entering(slots, started);
    const all = ["a1", "a2", "a3", "a4"].map((name) => enter("a", name));
    void enter("b", "b1");
    expect(started).toEqual(["a1", "a2", "b1"]);
    slots.leave("a");
    await all[2];
    expect(started).toEqual(["a1", "a2", "b1", "a3"]);
    slots.leave("a");
    await all[3];
    for (let left = 0; left < 2; left++) slots.leave("a");
    expect(slots.enter("a", response())).toBeNull();
  });

  it("leave their place in the line when their client disconnects", async () => {
    const slots = createDirectorySlots(1);
    const started: string[] = [];
    const enter = entering(slots, started);
    void enter("a", "a1");
    const gone = new EventEmitter();
    const [second, third] = [enter("a", "a2", gone as never), enter("a", "a3")];
    gone.emit("close");
    await expect(second).rejects.toMatchObject({ code: "bad_request" });
    slots.leave("a");
    await third;
    expect(started).toEqual(["a1", "a3"]);
  });

  it("are refused with a Retry-After of 5 to 15 seconds, spread, when they waited ten", async () => {
    jest.useFakeTimers();
    try {
      const slots = createDirectorySlots(1);
      expect(slots.enter("a", response())).toBeNull();
      const waiting = Array.from({ length: 20 }, () => slots.enter("a", response()));
      const refused = Promise.allSettled(waiting);
      jest.advanceTimersByTime(10_000);
      const errors = (await refused).map((each) => (each as PromiseRejectedResult).reason as AppError);
      for (const { code, retryAfterSeconds } of errors) {
        expect(code).toBe("overloaded");
        expect(Math.min(15, Math.max(5, retryAfterSeconds ?? 0))).toBe(retryAfterSeconds);
      }
      expect(new Set(errors.map(({ retryAfterSeconds }) => retryAfterSeconds)).size).toBeGreaterThan(1);
    } finally {
      jest.useRealTimers();
    }
  });
});
