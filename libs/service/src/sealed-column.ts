import type { Query, Tx } from "@muster/db";
import { isSealed, type SecretBox } from "@muster/kit";

/** A column of envelopes that `secretBox` made. */
export type SealedColumn = {
  table: string;
  /** The primary key: columns in order, each with its PostgreSQL type. */
  key: readonly (readonly [column: string, type: string])[];
  column: string;
  /** The purpose that its writer passes to `secretBox`. */
  purpose: string;
  /** The location that its writer binds the envelope to, from the key's values as text. */
  location(key: readonly string[]): string;
  /** Holds also what needed no sealing, as it is; that stays so. */
  mayBeClear?: boolean;
};

export type SealedRow = { key: string[]; held: Buffer };
export type Reseal = SealedRow & { fresh: Buffer };

/** The next rows after `after` in the order of the key, at most `limit`. */
export async function sealedPage(
  tx: Tx,
  { table, key, column }: SealedColumn,
  after: readonly string[] | null,
  limit: number,
): Promise<SealedRow[]> {
  const columns = key.map(([name]) => quoted(name));
  const beyond = after
    ? `AND (${columns.join(", ")}) > (${key.map(([, type], at) => `$${at + 2}::text::${type}`).join(", ")})`
    : "";
  const rows = await tx.query<{ key: string[]; held: Buffer }>({
    text: `SELECT ARRAY[${columns.map((name) => `${name}::text`).join(", ")}] AS key, ${quoted(column)} AS held
           FROM ${quoted(table)} WHERE ${quoted(column)} IS NOT NULL ${beyond}
           ORDER BY ${columns.join(", ")} LIMIT $1`,
    values: [limit, ...(after ?? [])],
  });
  return rows;
}

/**
 * Replaces the envelopes that are unchanged since they were read; returns their number. Locked rows are skipped: a
 * transaction that never waits cannot deadlock, and no request waits for more than this statement.
 */
export async function swapEnvelopes(tx: Tx, column: SealedColumn, rows: readonly Reseal[]): Promise<number> {
  return tx.execute(swapStatement(column, rows));
}

function swapStatement({ table, key, column }: SealedColumn, rows: readonly Reseal[]): Query {
  const names = key.map(([name]) => quoted(name));
  const keyColumns = key.map((_, at) => `k${at}`);
  const same = (of: string) => names.map((name, at) => `t.${name} = ${of}.k${at}`).join(" AND ");
  const lists = key.map(([, type], at) => `$${at + 1}::text[]::${type}[]`);
  const [held, fresh] = [`$${key.length + 1}::bytea[]`, `$${key.length + 2}::bytea[]`];
  return {
    text: `WITH given AS (
             SELECT * FROM unnest(${lists.join(", ")}, ${held}, ${fresh}) AS g (${keyColumns.join(", ")}, held, fresh)
           ), free AS (
             SELECT ${keyColumns.map((name) => `given.${name}`).join(", ")}, given.fresh
             FROM ${quoted(table)} t JOIN given ON ${same("given")}
             WHERE t.${quoted(column)} = given.held
             FOR NO KEY UPDATE OF t SKIP LOCKED
           )
           UPDATE ${quoted(table)} t SET ${quoted(column)} = free.fresh FROM free WHERE ${same("free")}`,
    values: [
      ...key.map((_, at) => rows.map((row) => row.key[at] ?? "")),
      rows.map((row) => row.held),
      rows.map((row) => row.fresh),
    ],
  };
}

export type Sorted = { stale: Reseal[]; unreadable: SealedRow[] };

/** Seals again the envelopes that differ in form or key from those that `box` makes now. */
export function sortEnvelopes(column: SealedColumn, box: SecretBox, rows: readonly SealedRow[]): Sorted {
  const sorted: Sorted = { stale: [], unreadable: [] };
  for (const row of rows) {
    if ((column.mayBeClear && !isSealed(row.held)) || box.isCurrent(row.held)) continue;
    const location = column.location(row.key);
    try {
      sorted.stale.push({ ...row, fresh: box.seal(box.open(row.held, location), location) });
    } catch {
      // Two causes are possible, a key that is not in the list and altered bytes: both are reported with the row only.
      sorted.unreadable.push(row);
    }
  }
  return sorted;
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
