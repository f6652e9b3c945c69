/** Milliseconds before retry n (from 0): exponential with full jitter, between half and all of min(base × 2^n, max). */
export function backoffMs(attempt: number, baseMs: number, maxMs: number, random: () => number = Math.random): number {
  const full = Math.min(baseMs * 2 ** Math.min(attempt, 30), maxMs);
  return full / 2 + (full / 2) * random();
}

/** What the work resolves with, or null when it takes longer; rejects as the work does. No timer stays. */
export async function settledWithin<T>(ms: number, work: Promise<T>): Promise<T | null> {
  const settled = new AbortController();
  const late = sleep(ms, settled.signal).then(() => null);
  return Promise.race([work, late]).finally(() => settled.abort());
}

/** Waits, or ends early (resolving false) when the signal aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve(false);
    const onAbort = () => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve(true);
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
