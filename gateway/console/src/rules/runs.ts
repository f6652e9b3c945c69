/** Rows of the same text that follow one another, as the first of them and how many they are. */
export function runsOf<R>(rows: readonly R[], textOf: (row: R) => string): { first: R; count: number }[] {
  const runs: { first: R; text: string; count: number }[] = [];
  for (const row of rows) {
    const last = runs.at(-1);
    const text = textOf(row);
    if (last?.text === text) last.count += 1;
    else runs.push({ first: row, text, count: 1 });
  }
  return runs;
}
