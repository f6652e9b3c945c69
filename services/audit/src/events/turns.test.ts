import { describe, expect, it } from "@jest/globals";
import { takeTurns } from "./turns.ts";

type Task = { started: boolean; end(): void; done: Promise<void> };

function taskIn(turns: ReturnType<typeof takeTurns>): Task {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const task: Task = { started: false, end: () => end(), done: Promise.resolve() };
  task.done = turns.take(async () => {
    task.started = true;
    await ended;
  });
  return task;
}

describe("turns", () => {
  it("run a limited number of tasks concurrently, in the order of arrival", async () => {
    const turns = takeTurns(2, 9);
    const tasks = Array.from({ length: 4 }, () => taskIn(turns));
    expect(tasks.map(({ started }) => started)).toEqual([true, true, false, false]);
    tasks[1]?.end();
    await tasks[1]?.done;
    expect(tasks.map(({ started }) => started)).toEqual([true, true, true, false]);
    for (const task of tasks) task.end();
    await Promise.all(tasks.map(({ done }) => done));
    expect(tasks.every(({ started }) => started)).toBe(true);
  });

  it("pass a turn on after a failed task", async () => {
    const turns = takeTurns(1, 9);
    const failing = turns.take(() => Promise.reject(new Error("no")));
    const after = turns.take(() => Promise.resolve("done"));
    await expect(failing).rejects.toThrow("no");
    await expect(after).resolves.toBe("done");
  });

  it("block fetching while the maximum number of tasks is held, and unblock it when a task ends", async () => {
    const turns = takeTurns(1, 2);
    await turns.room();
    const tasks = [taskIn(turns), taskIn(turns)];
    const entered: number[] = [];
    const waiting = [1, 2].map((n) => turns.room().then(() => entered.push(n)));
    await Promise.resolve();
    expect(entered).toEqual([]);
    tasks[0]?.end();
    await tasks[0]?.done;
    await waiting[0];
    expect(entered).toEqual([1]);
    // The second came for nothing that would end: it is let in though the first fetched nothing.
    await waiting[1];
    expect(entered).toEqual([1, 2]);
    tasks[1]?.end();
    await tasks[1]?.done;
  });
});
