import { sleep } from "./retry.ts";

export type Repeating = {
  /** Ends it; waits for a running call. */
  stop(): Promise<void>;
};

/**
 * Runs a task every `everyMs` milliseconds, first after that time, and never twice at once: what comes due meanwhile is
 * left out. A failed run is reported to `onFailure`, and the next one follows. The process may end between runs.
 */
export function repeatEvery(
  everyMs: number,
  task: () => Promise<unknown>,
  onFailure: (error: unknown) => void,
): Repeating {
  let running: Promise<void> | null = null;
  const run = async () => {
    try {
      await task();
    } catch (error) {
      onFailure(error);
    } finally {
      running = null;
    }
  };
  const timer = setInterval(() => {
    running ??= run();
  }, everyMs);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}

/**
 * Runs a task at once, and again `everyMs` milliseconds after each run has ended. A failed run is reported to
 * `onFailure`, and the next one follows. Stopping aborts the signal that the task was given and waits for it.
 */
export function keepWorking(
  everyMs: number,
  task: (signal: AbortSignal) => Promise<unknown>,
  onFailure: (error: unknown) => void,
): Repeating {
  const stopping = new AbortController();
  const work = async () => {
    while (!stopping.signal.aborted) {
      try {
        await task(stopping.signal);
      } catch (error) {
        onFailure(error);
      }
      await sleep(everyMs, stopping.signal);
    }
  };
  const working = work();
  return {
    async stop() {
      stopping.abort();
      await working;
    },
  };
}
