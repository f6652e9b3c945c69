/** Rows that say the same: the first of them, those after it, what they say, and how many they are. */
export type Run<R> = { first: R; rest: R[]; text: string; count: number };

/** Rows of the same text that follow one another, as one, `most` at once. */
export function runsOf<R>(rows: readonly R[], textOf: (row: R) => string, most = Number.POSITIVE_INFINITY): Run<R>[] {
  const runs: Run<R>[] = [];
  for (const row of rows) {
    const text = textOf(row);
    const last = runs.at(-1);
    if (last?.text === text && last.count < most) addTo(last, row);
    else runs.push({ first: row, rest: [], text, count: 1 });
  }
  return runs;
}

/** Rows of the same text as one, wherever they stand, in the order of the first of each. */
export function groupsOf<R>(rows: readonly R[], textOf: (row: R) => string): Run<R>[] {
  const groups = new Map<string, Run<R>>();
  for (const row of rows) {
    const text = textOf(row);
    const group = groups.get(text);
    if (group) addTo(group, row);
    else groups.set(text, { first: row, rest: [], text, count: 1 });
  }
  return [...groups.values()];
}

function addTo<R>(run: Run<R>, row: R): void {
  run.rest.push(row);
  run.count += 1;
}
