/**
 * What stands below one another: a row by its index, or a heading above the row of that index; `folded` is how many
 * rows a heading shows and hides, null where they are always shown.
 */
export type TableLine = { key: string; heading: string | null; at: number; folded: number | null };

type Grouped = { key: string; group: string | null; at: number };

/** The lines of rows: those of the quiet group last, by its heading alone unless it is open or the only one. */
export function linesOf<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  groupOf: ((row: Row) => string | null) | undefined,
  quiet: { group: string; isOpen: boolean } | undefined,
): TableLine[] {
  const all = rows.map((row, at): Grouped => ({ key: keyOf(row), group: groupOf?.(row) ?? null, at }));
  const others = all.filter(({ group }) => group !== quiet?.group);
  const [first, ...more] = all.filter(({ group }) => group === quiet?.group);
  if (!quiet || !first || others.length === 0) return withHeadings(all);
  const heading = { ...headingOf(first), folded: more.length + 1 };
  return [...withHeadings(others), heading, ...(quiet.isOpen ? [first, ...more].map(lineOf) : [])];
}

const lineOf = ({ key, at }: Grouped): TableLine => ({ key, heading: null, at, folded: null });
const headingOf = ({ key, group, at }: Grouped): TableLine => ({
  key: `above ${key}`,
  heading: group,
  at,
  folded: null,
});

function withHeadings(rows: readonly Grouped[]): TableLine[] {
  let shown: string | null = null;
  return rows.flatMap((row) => {
    const isNew = row.group !== null && row.group !== shown;
    shown = row.group;
    return isNew ? [headingOf(row), lineOf(row)] : [lineOf(row)];
  });
}
