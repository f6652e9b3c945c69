import { monitorEventLoopDelay } from "node:perf_hooks";

const everyMs = 1_000;
/** How often the loop is sampled; each sample includes it. */
const resolutionMs = 10;

/** Tells each second by how many milliseconds the event loop was late at most in 99 of 100 samples. */
export function watchLoopLag(tell: (p99Ms: number) => void): { stop(): void } {
  const delays = monitorEventLoopDelay({ resolution: resolutionMs });
  delays.enable();
  const timer = setInterval(() => {
    tell(Math.max(0, delays.percentile(99) / 1e6 - resolutionMs));
    delays.reset();
  }, everyMs);
  timer.unref();
  return {
    stop() {
      clearInterval(timer);
      delays.disable();
    },
  };
}
