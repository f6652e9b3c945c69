type Row = { id: string };
const idsOf = (rows: readonly Row[]) => new Set(rows.map(({ id }) => id));

/** The rows of a list after those that lead it, each once. */
export function withLead<R extends Row>(rows: readonly R[], lead: readonly R[]): readonly R[] {
  if (lead.length === 0) return rows;
  const leading = idsOf(lead);
  return [...lead, ...rows.filter(({ id }) => !leading.has(id))];
}

/** Rows with the values that some of them have got; each keeps its position. */
export function withValues<R extends Row>(rows: readonly R[], latest: readonly R[] | undefined): readonly R[] {
  if (latest === undefined) return rows;
  const values = new Map(latest.map((row) => [row.id, row]));
  return rows.map((row) => values.get(row.id) ?? row);
}

type LeadChanges = {
  before: readonly Row[];
  now: readonly Row[];
  /** New rows of the list, which are counted as such. */
  fresh: readonly Row[];
  /** Rows of an answer that is full: of such a one, those that are missing may only have made room. */
  most: number;
};

/** How many rows lead a list now and did not when it was read, or the other way round. */
export function leadChanges({ before, now, fresh, most }: LeadChanges): number {
  const [wereFirst, areFirst] = [idsOf([...before, ...fresh]), idsOf(now)];
  const come = now.filter(({ id }) => !wereFirst.has(id)).length;
  const gone = now.length < most ? before.filter(({ id }) => !areFirst.has(id)).length : 0;
  return come + gone;
}
