/** The longest that a timer of Node waits: beyond it it fires at once. */
const longestMs = 2 ** 31 - 1;

/** The end of the process, and pauses that end with it. */
export type Stopping = {
  readonly stopped: boolean;
  /** Resolves after the time, or at once when the process stops. */
  pause(ms: number): Promise<void>;
  stop(): void;
};

/**
 * A set instead of an AbortSignal's listeners: those of 50,000 agents would be searched through at the end of each
 * pause.
 */
export function createStopping(): Stopping {
  const pauses = new Set<{ timer: NodeJS.Timeout; end(): void }>();
  let stopped = false;
  return {
    get stopped() {
      return stopped;
    },
    pause: (ms) =>
      new Promise((resolve) => {
        if (stopped) return resolve();
        const entry = { timer: setTimeout(() => entry.end(), Math.min(ms, longestMs)), end };
        function end() {
          clearTimeout(entry.timer);
          pauses.delete(entry);
          resolve();
        }
        pauses.add(entry);
      }),
    stop() {
      stopped = true;
      for (const { end } of [...pauses]) end();
    },
  };
}
