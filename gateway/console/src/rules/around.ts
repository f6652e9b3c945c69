import { runsOf } from "./runs.ts";

type Row = { id: string; timestamp: string };

/** Rows until one of them and from it on, both newest first, and whether there are more newer ones than were read. */
type Read<R> = { older: readonly R[]; newer: readonly R[]; isMore: boolean };
/** Rows of the same text that follow one another, as the newest of them. */
type Run<R> = { first: R; count: number };
export type Around<R> = {
  /** At most `most` lines, newest first, with the row itself among them, as a line of its own. */
  lines: readonly Run<R>[];
  /** How many newer rows are left out; null when there are more than were read. */
  newerCount: number | null;
};

const newestFirst = (a: Row, b: Row) => b.timestamp.localeCompare(a.timestamp) || b.id.localeCompare(a.id);

/**
 * The rows next to one of them: as many older as newer lines, as long as there are as many of both. Rows of one text
 * that follow one another are one line.
 */
export function around<R extends Row>(
  row: R,
  { older, newer, isMore }: Read<R>,
  { most, textOf }: { most: number; textOf(row: R): string },
): Around<R> {
  // The newest of so many are not next to it.
  const read = [row, ...older, ...(isMore ? [] : newer)];
  const rows = [...new Map(read.map((each) => [each.id, each])).values()].sort(newestFirst);
  const lines = runsOf(rows, (each) => (each.id === row.id ? `itself ${row.id}` : textOf(each)));
  const at = lines.findIndex(({ first }) => first.id === row.id);
  const from = Math.max(0, Math.min(at - Math.floor(most / 2), lines.length - most));
  const newerCount = lines.slice(0, from).reduce((sum, { count }) => sum + count, 0);
  return { lines: lines.slice(from, from + most), newerCount: isMore ? null : newerCount };
}

/** How far a row is from another one in time: `9 s later`, `2 min earlier`. */
export function offsetWords(at: string, of: string): string {
  const seconds = Math.round((Date.parse(at) - Date.parse(of)) / 1_000);
  if (seconds === 0) return "the same second";
  const far = Math.abs(seconds);
  const amount = far < 100 ? `${far} s` : `${Math.round(far / 60)} min`;
  return `${amount} ${seconds > 0 ? "later" : "earlier"}`;
}
