/**
 * A function that calls `run` at once, and when it is called again within `gapMs` milliseconds, once more after them.
 */
export function atMostEvery(gapMs: number, run: () => void): () => void {
  let isResting = false;
  let again = false;
  const call = () => {
    if (isResting) {
      again = true;
      return;
    }
    isResting = true;
    run();
    setTimeout(() => {
      isResting = false;
      if (!again) return;
      again = false;
      call();
    }, gapMs).unref();
  };
  return call;
}
