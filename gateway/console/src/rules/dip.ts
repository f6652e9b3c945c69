/** A level below this share of the usual one is worth a word. */
const share = 0.95;

/**
 * Where a level that had been near its median was lowest, and by how much less than that; null while it stays near. The
 * last value does not count: its span may not have ended.
 */
export function deepestDip(levels: readonly number[]): { at: number; fewer: number } | null {
  const ended = levels.slice(0, -1);
  const sorted = [...ended].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const lowest = sorted[0] ?? 0;
  const at = ended.indexOf(lowest);
  const wasUsual = ended.slice(0, Math.max(0, at)).some((level) => level >= median * share);
  return wasUsual && lowest < median * share ? { at, fewer: Math.round(median - lowest) } : null;
}
