/** The value that most of the texts are, and how many of them; null without one. */
export function mostCommon(texts: readonly (string | null)[]): { value: string; count: number } | null {
  const counts = new Map<string, number>();
  for (const text of texts) if (text !== null) counts.set(text, (counts.get(text) ?? 0) + 1);
  const [top] = [...counts].sort((a, b) => b[1] - a[1]);
  return top ? { value: top[0], count: top[1] } : null;
}
