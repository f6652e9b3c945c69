import { randomBytes } from "node:crypto";
import type pg from "pg";

/**
 * Whether statements prepared on this connection exist in its next transaction. On a direct connection they do. A
 * pooler hands each transaction to any server connection: one that supports prepared statements (PgBouncer 1.21 and
 * newer) renames them there; behind any other they would be missing, or another process's.
 */
export async function carriesPrepared(client: pg.PoolClient): Promise<boolean> {
  const name = `probe_${randomBytes(6).toString("hex")}`;
  const text = "select pg_backend_pid() as pid, exists (select from pg_prepared_statements where name = $1) as plain";
  // One transaction, so that probe and clean-up meet the same server.
  await client.query("BEGIN");
  const { rows } = await client.query<{ pid: number; plain: boolean }>({ name, text, values: [name] });
  const [found] = rows;
  if (!found) throw new Error("the probe for prepared statements had no answer");
  const direct = "processID" in client && found.pid === client.processID;
  const carried = direct || !found.plain;
  if (found.plain) await client.query(`DEALLOCATE ${name}`);
  await client.query("COMMIT");
  return carried;
}
