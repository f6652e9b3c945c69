type Row = { id: string };

/**
 * A list whose newest page was read again: known rows get their new values and keep their places; `newCount` is the
 * number of new rows before them; `isMore` when none of the page was known, so that there may be more new rows.
 */
export function withNewest<R extends Row>(
  rows: readonly R[],
  newest: readonly R[] | undefined,
): { rows: readonly R[]; newCount: number; isMore: boolean } {
  if (newest === undefined || rows.length === 0) return { rows, newCount: 0, isMore: false };
  const fresh = new Map(newest.map((row) => [row.id, row]));
  const known = new Set(rows.map(({ id }) => id));
  const firstKnown = newest.findIndex(({ id }) => known.has(id));
  return {
    rows: rows.map((row) => fresh.get(row.id) ?? row),
    newCount: firstKnown < 0 ? newest.length : firstKnown,
    isMore: firstKnown < 0 && newest.length > 0,
  };
}
