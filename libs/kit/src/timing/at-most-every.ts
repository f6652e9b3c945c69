/**
 * A function that calls `run` at once, and when it is called again within `gapMs` milliseconds, once more after them.
 */
export function atMostEvery(gapMs: number, run: () => void): () => void {
  let isWaiting = false;
  let again = false;
  const call = () => {
    if (isWaiting) {
      again = true;
      return;
    }
    isWaiting = true;
    run();
    setTimeout(() => {
      isWaiting = false;
      if (!again) return;
      again = false;
      call();
    }, gapMs).unref();
  };
  return call;
}
