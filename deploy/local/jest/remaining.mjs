import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";

/** What goes on by itself: it calls receivers that later suites have at the same ports. */
const queries = {
  webhook: `SELECT w.name, w.url_shown AS address FROM webhook_dispatcher.webhooks w
            WHERE w.status = 'active' AND w.deleted_at IS NULL AND w.stopped_at IS NULL`,
  "audit stream": `SELECT s.name, s.url_shown AS address FROM audit.audit_streams s
                   WHERE s.status = 'active' AND s.type <> 'archive'
                     AND NOT EXISTS (SELECT FROM audit.tenant t WHERE t.deleted AND t.id IN (s.org_id, s.partner_id))`,
};

/**
 * A sentence for each webhook and audit stream that suites left active on the shared cluster; its address names the
 * suite (gateway/e2e/support/receiver.ts). Call it while the database runs.
 */
export async function remainingOf(directory) {
  const stackFile = join(directory, "data", "stack.json");
  if (!existsSync(stackFile)) return [];
  const client = new pg.Client({ connectionString: JSON.parse(readFileSync(stackFile, "utf8")).databaseUrl });
  await client.connect();
  try {
    const left = [];
    for (const [kind, query] of Object.entries(queries)) {
      const { rows } = await client.query(query);
      for (const { name, address } of rows) left.push(`${kind} "${name}" still sends to ${address}`);
    }
    return left;
  } finally {
    await client.end();
  }
}
