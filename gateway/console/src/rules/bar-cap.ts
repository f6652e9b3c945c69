/** A bar is cut from so many times the usual one on, and the next one; it stays so many times as high as the next. */
const [usualTimes, nextTimes, shownTimes] = [3, 2, 1.5];
const leastBars = 4;

/** Where the axis ends, so that one bar far above all others does not flatten them; null while none is. */
export function barCap(sums: readonly number[]): number | null {
  const sorted = sums.filter((sum) => sum > 0).sort((a, b) => b - a);
  const [top = 0, next = 0] = sorted;
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  if (sorted.length < leastBars || top < median * usualTimes || top < next * nextTimes) return null;
  return Math.ceil(next * shownTimes);
}

/** The parts of a bar as they are drawn: of one that is cut, each in its share of what is left. */
export function cutTo(cap: number | null, values: readonly number[]): readonly number[] {
  const sum = values.reduce((all, value) => all + value, 0);
  return cap === null || sum <= cap ? values : values.map((value) => (value * cap) / sum);
}
