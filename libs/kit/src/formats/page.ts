export type Page = { page: number; limit: number; cursor: string | null; skipCount: boolean };

/**
 * Clamps (docs/behaviour.md#lists): page below 1 is 1, limit into 1..max, anything that is no number takes the default.
 */
export function clampPage(
  wanted: { page?: number | undefined; limit?: number | undefined; cursor?: string | undefined; skipCount?: boolean },
  maxLimit = 100,
  defaultLimit = 50,
): Page {
  const page = wholeOr(wanted.page, 1);
  const limit = wholeOr(wanted.limit, defaultLimit);
  return {
    page: Math.min(Math.max(page, 1), 1_000_000),
    limit: Math.min(Math.max(limit, 1), maxLimit),
    cursor: wanted.cursor ? wanted.cursor : null,
    skipCount: wanted.skipCount ?? false,
  };
}

function wholeOr(value: number | undefined, fallback: number): number {
  return value === undefined || Number.isNaN(value) ? fallback : Math.trunc(value);
}
