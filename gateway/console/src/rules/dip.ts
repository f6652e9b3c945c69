/** A level below this share of the usual one is worth a word. */
const share = 0.95;

/** Where a level was lowest, and by how much less than its median; null while it stays near that. */
export function deepestDip(levels: readonly number[]): { at: number; fewer: number } | null {
  const sorted = [...levels].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const lowest = sorted[0] ?? 0;
  const at = levels.indexOf(lowest);
  // The last one may not have ended, and a fleet begins with none.
  const isInside = at > 0 && at < levels.length - 1;
  return isInside && lowest < median * share ? { at, fewer: Math.round(median - lowest) } : null;
}
