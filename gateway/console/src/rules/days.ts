const dayMs = 86_400_000;

/** Each day (UTC) of a time, those without a row with what `empty` makes of them; at most `most`, the newest. */
export function everyDay<R extends { day: string }>(
  rows: readonly R[],
  { from, to }: { from: string; to: string },
  empty: (day: string) => R,
  most = 400,
): R[] {
  const byDay = new Map(rows.map((row) => [row.day, row]));
  const last = Math.floor(new Date(to).getTime() / dayMs);
  const first = Math.max(Math.floor(new Date(from).getTime() / dayMs), last - most + 1);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => {
    const day = new Date((first + at) * dayMs).toISOString().slice(0, 10);
    return byDay.get(day) ?? empty(day);
  });
}
