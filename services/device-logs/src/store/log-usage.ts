import { type Database, sql, type Who } from "@muster/db";
import { decodeCursor, type Page, systemCaller } from "@muster/kit";
import { type ListPage, readListPage } from "@muster/service";

const system = { caller: systemCaller("device-logs") };

/** What the agents of an organization sent on a day (as 2026-01-31, UTC); `refused` counts requests. */
export type LogUsage = { orgId: string; partnerId: string; day: string; rows: number; bytes: number; refused: number };

type UsageRow = { org_id: string; partner_id: string; day: string; rows: number; bytes: number; refused: number };

const columns = sql`t.org_id, t.partner_id, t.day::text AS day, t.rows, t.bytes, t.refused`;

/** Adds to what is stored, and returns the sums: of all processes. In a fixed order: processes add to the same rows. */
export async function addUsage(db: Database, usage: readonly LogUsage[]): Promise<LogUsage[]> {
  const rows = await db.tx(system, (tx) =>
    tx.query<UsageRow>(sql`
      INSERT INTO log_usage AS t (org_id, partner_id, day, rows, bytes, refused)
      SELECT * FROM unnest(${usage.map((u) => u.orgId)}::uuid[], ${usage.map((u) => u.partnerId)}::uuid[],
        ${usage.map((u) => u.day)}::date[], ${usage.map((u) => u.rows)}::bigint[], ${usage.map((u) => u.bytes)}::bigint[],
        ${usage.map((u) => u.refused)}::bigint[]) AS u (org_id, partner_id, day, rows, bytes, refused)
      ORDER BY u.org_id, u.day
      ON CONFLICT (org_id, day) DO UPDATE
      SET rows = t.rows + excluded.rows, bytes = t.bytes + excluded.bytes, refused = t.refused + excluded.refused
      RETURNING ${columns}`),
  );
  return rows.map(usageOfRow);
}

/** What an organization sent on a day; null when that was nothing. */
export async function findUsage(db: Database, who: Who, orgId: string, day: string): Promise<LogUsage | null> {
  const [row] = await db.read<UsageRow>(
    who,
    sql`SELECT ${columns} FROM log_usage AS t WHERE t.org_id = ${orgId}::uuid AND t.day = ${day}::date`,
  );
  return row ? usageOfRow(row) : null;
}

/** Organizations by the rows that they sent on a day, most first (index log_usage_of_day); for the platform alone. */
export function listUsage(
  db: Database,
  who: Parameters<typeof readListPage>[1],
  { day, refusedOnly }: { day: string; refusedOnly: boolean },
  page: Page,
): Promise<ListPage<UsageRow>> {
  const list = {
    table: sql`log_usage`,
    columns,
    wanted: sql`t.day = ${day}::date AND ${refusedOnly ? sql`t.refused > 0` : sql`true`}`,
    order: sql`t.rows DESC, t.org_id DESC`,
    position: (row: UsageRow) => [String(row.rows), row.org_id],
    after(cursor: string) {
      const [rows, orgId] = decodeCursor(cursor, ["count", "uuid"]);
      return sql`(t.rows, t.org_id) < (${rows}::bigint, ${orgId}::uuid)`;
    },
  };
  return readListPage<UsageRow>(db, who, list, page);
}

/** Deletes what is older; one row a day for each organization that logs. */
export function removeUsageBefore(db: Database, day: string): Promise<number> {
  return db.tx(system, (tx) => tx.execute(sql`DELETE FROM log_usage WHERE day < ${day}::date`));
}

export function usageOfRow(row: UsageRow): LogUsage {
  return {
    orgId: row.org_id,
    partnerId: row.partner_id,
    day: row.day,
    rows: row.rows,
    bytes: row.bytes,
    refused: row.refused,
  };
}
