type Numbered = { recordId: number };

/**
 * The messages that a follower has not received: those of a log's newest records (passed newest first) after the number
 * `after`, oldest first, and the number to continue after. With `after` null there are none. A cleared log restarts its
 * numbers. `isSkipped` when all of `most` are new, so that there may be more in between.
 */
export function messagesAfter<E extends Numbered>(
  newest: readonly E[],
  after: number | null,
  most: number,
): { events: E[]; after: number; isSkipped: boolean } {
  const last = newest[0]?.recordId ?? 0;
  if (after === null) return { events: [], after: last, isSkipped: false };
  // An empty answer contains no information about the records before it, when a filter is set.
  if (newest.length === 0) return { events: [], after, isSkipped: false };
  const events = (last < after ? newest : newest.filter(({ recordId }) => recordId > after)).toReversed();
  return { events, after: last, isSkipped: events.length >= most };
}
