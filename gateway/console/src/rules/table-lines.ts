import { runsOf } from "./runs.ts";

/**
 * What stands below one another: a row by its index, a heading above the row of that index, or the line of a run up to
 * it; `folded` is how many rows a heading shows and hides, null where they are always shown.
 */
export type TableLine = { key: string; heading: string | null; at: number; folded: number | null; isRun?: true };

type Grouped = { key: string; group: string | null; run: string | null; at: number };

/** How rows are put together, and which of them are shown on request. */
export type Grouping<Row> = {
  /** The heading under which a row stands with its neighbours; null for none. */
  groupOf?: ((row: Row) => string | null) | undefined;
  /** The heading whose rows come last, and are shown on request. */
  quietGroup?: string | undefined;
  /** What a row says, where of rows that say the same after one another the first is enough; null for any other. */
  runOf?: ((row: Row) => string | null) | undefined;
};

/** Key of the line that shows and hides the rows of the quiet group. */
const quietKey = "quiet";

/** Rows that are worth a line in place of them, and most behind one: a list of them alone is not read to its end. */
const [leastFolded, mostFolded] = [3, 99];

/**
 * The lines of rows: those of the quiet group last, by its heading alone unless that is `opened` or the only one, and
 * rows that repeat the one before behind a line of their number.
 */
export function linesOf<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  { groupOf, quietGroup, runOf }: Grouping<Row>,
  opened: ReadonlySet<string>,
): TableLine[] {
  const all = rows.map(
    (row, at): Grouped => ({ key: keyOf(row), group: groupOf?.(row) ?? null, run: runOf?.(row) ?? null, at }),
  );
  const others = all.filter(({ group }) => group !== quietGroup);
  const [first, ...more] = all.filter(({ group }) => group === quietGroup);
  if (!quietGroup || !first || others.length === 0) return withHeadings(all, opened);
  const heading = { ...headingOf(first), key: quietKey, folded: more.length + 1 };
  return [...withHeadings(others, opened), heading, ...(opened.has(quietKey) ? [first, ...more].map(lineOf) : [])];
}

const lineOf = ({ key, at }: Grouped): TableLine => ({ key, heading: null, at, folded: null });
const headingOf = ({ key, group, at }: Grouped): TableLine => ({
  key: `above ${key}`,
  heading: group,
  at,
  folded: null,
});

function withHeadings(rows: readonly Grouped[], opened: ReadonlySet<string>): TableLine[] {
  let shown: string | null = null;
  return runsOf(rows, textOf, mostFolded + 1).flatMap(({ first, rest }) => {
    const isNew = first.group !== null && first.group !== shown;
    shown = first.group;
    return [...(isNew ? [headingOf(first)] : []), lineOf(first), ...repeated(first, rest, opened)];
  });
}

/** What counts of a row in a run: one that never repeats another has a text of its own. */
const textOf = ({ key, group, run }: Grouped) => JSON.stringify(run === null ? [key] : [group, run]);

/** The rows after the first of a run: behind a line of their number, unless they are as short as that. */
function repeated(first: Grouped, more: readonly Grouped[], opened: ReadonlySet<string>): TableLine[] {
  if (more.length < leastFolded) return more.map(lineOf);
  const key = `after ${first.key}`;
  const at = more.at(-1)?.at ?? first.at;
  const line = { key, heading: "More like it", at, folded: more.length, isRun: true } as const;
  return [line, ...(opened.has(key) ? more.map(lineOf) : [])];
}
