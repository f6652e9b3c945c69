import type { Threshold } from "./alert.ts";

/** A row that matched, as an alert sends it. */
export type MatchedRow = {
  id: string;
  seq: number;
  timestamp: Date;
  action: string;
  result: string;
  actor_type: string;
  actor_id: string;
  actor_name: string | null;
  actor_email: string | null;
  resource_type: string;
  resource_id: string;
  resource_name: string | null;
  ip_address: string | null;
};

/** Rows that an event shows; it counts the others. */
export const mostShown = 20;

export type Firing = { lastSeq: number; rows: number; sample: ReturnType<typeof shownRow>[] };

/** What fires: all rows of a batch together without a threshold, else whenever enough of them came within its time. */
export function firingsOf(
  threshold: Threshold | null,
  before: readonly Date[],
  rows: readonly MatchedRow[],
): { firings: Firing[]; times: Date[] } {
  if (!threshold) return { firings: rows.length > 0 ? [firing(rows, rows.length)] : [], times: [] };
  const windowMs = threshold.minutes * 60_000;
  const firings: Firing[] = [];
  let times = [...before];
  let counted: MatchedRow[] = [];
  for (const row of rows) {
    times = [...times, row.timestamp].filter((at) => row.timestamp.getTime() - at.getTime() < windowMs);
    counted.push(row);
    if (times.length < threshold.count) continue;
    firings.push(firing(counted, times.length));
    times = [];
    counted = [];
  }
  return { firings, times };
}

function firing(rows: readonly MatchedRow[], count: number): Firing {
  return { lastSeq: rows.at(-1)?.seq ?? 0, rows: count, sample: rows.slice(-mostShown).map(shownRow) };
}

function shownRow(row: MatchedRow) {
  return {
    id: row.id,
    seq: row.seq,
    timestamp: row.timestamp.toISOString(),
    action: row.action,
    result: row.result,
    actor: { type: row.actor_type, id: row.actor_id, name: row.actor_name, email: row.actor_email },
    resource: { type: row.resource_type, id: row.resource_id, name: row.resource_name },
    ipAddress: row.ip_address,
  };
}

/** The sentence of a mail: which alert, how many rows, and the last of them. */
export function lineOf(name: string, { rows, sample }: Pick<Firing, "rows" | "sample">): string {
  const last = sample.at(-1);
  const by = last?.actor.name ?? last?.actor.email ?? last?.actor.type ?? "";
  const on = last?.resource.name ?? last?.resource.type ?? "";
  const line = `${name}: ${rows === 1 ? "1 row" : `${rows} rows`}, the last ${last?.action} of ${on} by ${by} at ${last?.timestamp.slice(0, 16).replace("T", " ")} UTC`;
  return [...line].slice(0, 500).join("");
}
