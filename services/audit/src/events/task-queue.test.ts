import { describe, expect, it } from "@jest/globals";
import { createTaskQueue } from "./task-queue.ts";

type Task = { started: boolean; end(): void; done: Promise<void> };

function taskIn(queue: ReturnType<typeof createTaskQueue>): Task {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const task: Task = { started: false, end: () => end(), done: Promise.resolve() };
  task.done = queue.run(async () => {
    task.started = true;
    await ended;
  });
  return task;
}

describe("a task queue", () => {
  it("runs a limited number of tasks concurrently, in the order of arrival", async () => {
    const queue = createTaskQueue(2, 9);
    const tasks = Array.from({ length: 4 }, () => taskIn(queue));
    expect(tasks.map(({ started }) => started)).toEqual([true, true, false, false]);
    tasks[1]?.end();
    await tasks[1]?.done;
    expect(tasks.map(({ started }) => started)).toEqual([true, true, true, false]);
    for (const task of tasks) task.end();
    await Promise.all(tasks.map(({ done }) => done));
    expect(tasks.every(({ started }) => started)).toBe(true);
  });

  it("runs the next task after a failed one", async () => {
    const queue = createTaskQueue(1, 9);
    const failing = queue.run(() => Promise.reject(new Error("no")));
    const after = queue.run(() => Promise.resolve("done"));
    await expect(failing).rejects.toThrow("no");
    await expect(after).resolves.toBe("done");
  });

  it("blocks fetching while the maximum number of tasks is held, and unblocks it when a task ends", async () => {
    const queue = createTaskQueue(1, 2);
    await queue.room();
    const tasks = [taskIn(queue), taskIn(queue)];
    const entered: number[] = [];
    const waiting = [1, 2].map((n) => queue.room().then(() => entered.push(n)));
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
