import type { ChangeFeed, DeviceChange, Told } from "./feed.ts";

/** Changes queued for a slow client at most; beyond it the queue is replaced by one `current`. */
const waitingMost = 1_000;

/** Yields the feed's changes in order, and null at intervals while there are none. `wanted` selects the changes. */
export async function* toldBy(
  feed: Pick<ChangeFeed, "listen">,
  wanted: (change: DeviceChange) => boolean,
  everyMs: number,
): AsyncGenerator<Told | null> {
  let waiting: Told[] = [];
  let wake: () => void = () => undefined;
  const listening = feed.listen((told) => {
    if (told !== "current" && !wanted(told)) return;
    if (told === "current" || waiting.length >= waitingMost) waiting = ["current"];
    else waiting.push(told);
    wake();
  });
  try {
    for (;;) {
      const told = waiting.shift();
      if (told !== undefined) {
        yield told;
        continue;
      }
      const isTold = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(false), everyMs);
        wake = () => {
          clearTimeout(timer);
          resolve(true);
        };
      });
      wake = () => undefined;
      if (!isTold) yield null;
    }
  } finally {
    listening.stop();
  }
}
