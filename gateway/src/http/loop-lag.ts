import { monitorEventLoopDelay, performance } from "node:perf_hooks";

const everyMs = 1_000;
/** How often the loop is sampled; each sample includes it. */
const resolutionMs = 10;
/** A loop that was busy for less of the last second is not late, and sampling it would be most of what it does. */
const idleShare = 0.05;

/** Reports each second the event loop's lag in milliseconds (99th percentile); 0 while the loop is idle. */
export function watchLoopLag(report: (p99Ms: number) => void): { stop(): void } {
  const delays = monitorEventLoopDelay({ resolution: resolutionMs });
  let isSampling = false;
  let before = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    report(isSampling ? Math.max(0, delays.percentile(99) / 1e6 - resolutionMs) : 0);
    delays.reset();
    const now = performance.eventLoopUtilization();
    isSampling = performance.eventLoopUtilization(now, before).utilization >= idleShare;
    before = now;
    if (isSampling) delays.enable();
    else delays.disable();
  }, everyMs);
  timer.unref();
  return {
    stop() {
      clearInterval(timer);
      delays.disable();
    },
  };
}
