/** Resolves when the condition holds; rejects after the deadline. Looks every 10 ms. */
export async function until(condition: () => boolean, deadlineMs = 30_000): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not true within ${deadlineMs} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
