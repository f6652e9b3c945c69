/** A value is worth a word from so many times the usual one on. */
const times = 3;

/** Where a value stands far above the median of all, and how many times that it is; null while none does. */
export function highest(values: readonly number[]): { at: number; times: number } | null {
  const sorted = values.filter((value) => value > 0).sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const top = sorted.at(-1) ?? 0;
  return median > 0 && top >= median * times ? { at: values.indexOf(top), times: Math.round(top / median) } : null;
}
