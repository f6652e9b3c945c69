export type Turns = {
  /** Runs the task when fewer than `most` run, in the order in which they came. */
  take<T>(task: () => Promise<T>): Promise<T>;
  /**
   * Resolves when fewer than `mostHeld` tasks run or wait: the time to fetch another one. Not all who wait are let in at once; but whoever was and
   * finds nothing to fetch keeps nobody else out for longer than some milliseconds.
   */
  room(): Promise<void>;
};

const nextInMs = 5;

/** Bounds how many tasks run at a time and, for those who ask, how many are held in all. */
export function takeTurns(most: number, mostHeld: number): Turns {
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
    async take(task) {
      held += 1;
      if (busy < most) busy += 1;
      else await new Promise<void>((resolve) => void queue.push(resolve));
      try {
        return await task();
      } finally {
        // Whoever leaves hands its turn on.
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
