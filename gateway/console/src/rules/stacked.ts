export type Point = { at: string; values: readonly number[] };

/**
 * Columns for a chart: the instants in seconds, then per series the sum of it and those before it, so that they stand
 * on one another.
 */
export function stacked(points: readonly Point[], series: number): number[][] {
  const columns: number[][] = [points.map(({ at }) => new Date(at).getTime() / 1_000)];
  for (let at = 0; at < series; at++) {
    columns.push(points.map(({ values }) => values.slice(0, at + 1).reduce((sum, value) => sum + value, 0)));
  }
  return columns;
}

/** The chart in a sentence, for those who do not see it: totals, and where the most was. */
export function describe(points: readonly Point[], names: readonly string[], timeOf: (at: Date) => string): string {
  const totals = names.map((name, at) => {
    const sum = points.reduce((all, { values }) => all + (values[at] ?? 0), 0);
    return `${sum.toLocaleString("en")} ${name.toLowerCase()}`;
  });
  const sumOf = ({ values }: Point) => values.reduce((all, value) => all + value, 0);
  const [most] = [...points].sort((a, b) => sumOf(b) - sumOf(a));
  if (!most || sumOf(most) === 0) return `${totals.join(", ")}.`;
  return `${totals.join(", ")}; the most at ${timeOf(new Date(most.at))}: ${sumOf(most).toLocaleString("en")}.`;
}

const rounded = (value: number) => value.toLocaleString("en", { maximumFractionDigits: 1 });

/** Levels over time in a sentence: where each is at last, and between which values it was. */
export function describeLevels(points: readonly Point[], names: readonly string[]): string {
  if (points.length === 0) return "No value.";
  const texts = names.map((name, at) => {
    const values = points.map((point) => point.values[at] ?? 0);
    const [last = 0, least, most] = [values.at(-1), Math.min(...values), Math.max(...values)];
    return `${name.toLowerCase()} ${rounded(last)} at last, between ${rounded(least)} and ${rounded(most)}`;
  });
  return `${texts.join("; ")}.`;
}
