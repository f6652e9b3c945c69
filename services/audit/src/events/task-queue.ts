export type TaskQueue = {
  /** Runs the task when fewer than `most` run, in the order in which they came. */
  run<T>(task: () => Promise<T>): Promise<T>;
  /**
   * Resolves when fewer than `mostHeld` tasks run or wait, so that another one can be fetched. Waiting callers are
   * admitted gradually; a caller that finds nothing to fetch delays the others by a few milliseconds at most.
   */
  room(): Promise<void>;
};

const nextInMs = 5;

/** Bounds how many tasks run concurrently and how many are held in all, running or waiting. */
export function createTaskQueue(most: number, mostHeld: number): TaskQueue {
  const queue: (() => void)[] = [];
  const outside: (() => void)[] = [];
  let busy = 0;
  let held = 0;
  let timer: NodeJS.Timeout | undefined;

  const admit = () => {
    clearTimeout(timer);
    timer = undefined;
    if (held >= mostHeld) return;
    outside.shift()?.();
    if (outside.length > 0) timer = setTimeout(admit, nextInMs);
  };

  return {
    async run(task) {
      held += 1;
      if (busy < most) busy += 1;
      else await new Promise<void>((resolve) => void queue.push(resolve));
      try {
        return await task();
      } finally {
        // A finished task passes its slot on.
        const next = queue.shift();
        if (next) next();
        else busy -= 1;
        held -= 1;
        admit();
      }
    },
    async room() {
      if (held < mostHeld && outside.length === 0) return;
      await new Promise<void>((resolve) => {
        outside.push(resolve);
        if (held < mostHeld && !timer) timer = setTimeout(admit, nextInMs);
      });
    },
  };
}
