/** Waits until `probe` gives something other than undefined, null or false; asks every 20 ms, for `forMs` at most. */
export async function until<T>(what: string, probe: () => Promise<T> | T, forMs = 15_000): Promise<NonNullable<T>> {
  const end = performance.now() + forMs;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (performance.now() > end) throw new Error(`waited ${forMs} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
