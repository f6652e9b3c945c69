import pg from "pg";
import type { TestDatabase } from "./database.ts";
import { asOwner } from "./without-context.ts";

/**
 * How many rows each table has of an organization: every table of the schema that bears one, but for the copy of the
 * tenants.
 */
export function tenantRows(database: TestDatabase, orgId: string): Promise<Record<string, number>> {
  return asOwner(database, async (owner) => {
    const { rows: tables } = await owner.query<{ name: string }>(`
      SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'org_id'
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND c.relname <> 'tenant'
      ORDER BY c.relname`);
    const counts: Record<string, number> = {};
    for (const { name } of tables) {
      const { rows } = await owner.query<{ n: string }>(
        `SELECT count(*) AS n FROM ${pg.escapeIdentifier(name)} WHERE org_id = $1`,
        [orgId],
      );
      counts[name] = Number(rows[0]?.n);
    }
    return counts;
  });
}
