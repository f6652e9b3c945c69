import type { ChangeFeed, ChangeMessage, DeviceChange } from "./device-change-feed.ts";

/** Changes queued for a slow client at most; beyond it the queue is replaced by one `current`. */
const queuedMax = 1_000;

/** Yields the feed's changes in order, and null at intervals while there are none. `wanted` selects the changes. */
export async function* queuedChanges(
  feed: Pick<ChangeFeed, "listen">,
  wanted: (change: DeviceChange) => boolean,
  everyMs: number,
): AsyncGenerator<ChangeMessage | null> {
  let waiting: ChangeMessage[] = [];
  let wake: () => void = () => undefined;
  const listening = feed.listen((message) => {
    if (message !== "current" && !wanted(message)) return;
    if (message === "current" || waiting.length >= queuedMax) waiting = ["current"];
    else waiting.push(message);
    wake();
  });
  try {
    for (;;) {
      const message = waiting.shift();
      if (message !== undefined) {
        yield message;
        continue;
      }
      const isNotified = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(false), everyMs);
        wake = () => {
          clearTimeout(timer);
          resolve(true);
        };
      });
      wake = () => undefined;
      if (!isNotified) yield null;
    }
  } finally {
    listening.stop();
  }
}
