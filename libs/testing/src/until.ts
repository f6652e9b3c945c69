/**
 * Waits until `probe` returns something other than undefined, null or false, for `forMs` at most; polls every 20 ms at
 * first, less often the longer it takes: each poll costs the machine that has to answer.
 */
export async function until<T>(what: string, probe: () => Promise<T> | T, forMs = 15_000): Promise<NonNullable<T>> {
  const startedMs = performance.now();
  for (;;) {
    const value = await probe();
    if (value) return value;
    const waitedMs = performance.now() - startedMs;
    if (waitedMs > forMs) throw new Error(`waited ${forMs} ms in vain for ${what}`);
    const pauseMs = Math.min(100, Math.max(20, waitedMs / 20));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
