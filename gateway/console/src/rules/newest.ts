type Row = { id: string };

/**
 * A list after its newest page was read again: rows that were read before get their new values and keep their
 * positions; `newCount` is the number of new rows before them; `isMore` when none of the page was read before, so that
 * there may be more new rows.
 */
export function withNewest<R extends Row>(
  rows: readonly R[],
  newest: readonly R[] | undefined,
): { rows: readonly R[]; newCount: number; isMore: boolean } {
  if (newest === undefined || rows.length === 0) return { rows, newCount: 0, isMore: false };
  const fresh = new Map(newest.map((row) => [row.id, row]));
  const readBefore = new Set(rows.map(({ id }) => id));
  const firstReadBefore = newest.findIndex(({ id }) => readBefore.has(id));
  return {
    rows: rows.map((row) => fresh.get(row.id) ?? row),
    newCount: firstReadBefore < 0 ? newest.length : firstReadBefore,
    isMore: firstReadBefore < 0 && newest.length > 0,
  };
}
