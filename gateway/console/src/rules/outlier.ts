import { highest } from "./highest.ts";

type Part = { key: string; count: number };
export type OutlierPart = Part & {
  /** On all other days together; null where that is not known. */
  elsewhere: number | null;
};

const most = 3;

/**
 * What makes a day stand out among `otherDays`: the parts that have the most above what they have on another day, until
 * they are half of the day. `all` has the counts of all days.
 */
export function outlierParts(
  day: readonly Part[],
  all: ReadonlyMap<string, number>,
  otherDays: number,
): readonly OutlierPart[] {
  const parts = day
    .map(({ key, count }) => {
      const sum = all.get(key);
      const elsewhere = sum === undefined ? null : Math.max(0, sum - count);
      return { key, count, elsewhere, above: count - (elsewhere ?? 0) / Math.max(1, otherDays) };
    })
    .filter(({ above }) => above > 0)
    .sort((a, b) => b.above - a.above || b.count - a.count);
  const whole = day.reduce((sum, { count }) => sum + count, 0);
  const named: OutlierPart[] = [];
  let sum = 0;
  for (const { key, count, elsewhere } of parts) {
    if (named.length === most || sum * 2 >= whole) break;
    named.push({ key, count, elsewhere });
    sum += count;
  }
  return named;
}

/** Fewer are no outlier, however few the others are. */
const fewest = 5;

/** Where a value stands far above the usual one, and is more than a handful; null while none does. */
export function outlier(values: readonly number[]): ReturnType<typeof highest> {
  const top = highest(values);
  return top && (values[top.at] ?? 0) >= fewest ? top : null;
}
