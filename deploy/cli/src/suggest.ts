/** The known name that is nearest to what was typed, when it is near enough to be meant. */
export function nearest(typed: string, names: readonly string[]): string | null {
  const ranked = names.map((name) => ({ name, distance: editDistance(typed, name) }));
  const [best] = ranked.sort((a, b) => a.distance - b.distance);
  return best && best.distance <= Math.max(2, Math.floor(typed.length / 3)) ? best.name : null;
}

/** Insertions, deletions and replacements (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
