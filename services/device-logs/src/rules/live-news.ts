type Numbered = { recordId: number };

/**
 * What of the newest records of a log, newest first, a follower has not seen: oldest first, and the number to go on
 * after. Nobody has seen anything before `after` is known. A log that was cleared begins to count anew. `isSkipped` when
 * all of `most` are new, so that there may be more between.
 */
export function newsOf<E extends Numbered>(
  newest: readonly E[],
  after: number | null,
  most: number,
): { events: E[]; after: number; isSkipped: boolean } {
  const last = newest[0]?.recordId ?? 0;
  if (after === null) return { events: [], after: last, isSkipped: false };
  // An empty answer says nothing about what a filter let through before.
  if (newest.length === 0) return { events: [], after, isSkipped: false };
  const events = (last < after ? newest : newest.filter(({ recordId }) => recordId > after)).toReversed();
  return { events, after: last, isSkipped: events.length >= most };
}
