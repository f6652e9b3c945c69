import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";

const copies = ["agent_release", "audit", "device_logs", "identity", "webhook_dispatcher"];
const facts = "md5(string_agg(concat_ws(' ', id, version, status, deleted), ',' ORDER BY id))";

/** Kinds of tenants of which not every service has the same, which is that of tenancy. */
const differing = `
  SELECT count(*)::int AS n FROM (
    SELECT kind FROM (
      ${copies.map((schema) => `SELECT kind, ${facts} AS facts FROM ${schema}.tenant GROUP BY kind`).join(" UNION ALL ")}
      UNION ALL SELECT 'partner', ${facts}
        FROM (SELECT id, version, status, deleted_at IS NOT NULL AS deleted FROM tenancy.partners) p
      UNION ALL SELECT 'organization', ${facts}
        FROM (SELECT id, version, status, deleted_at IS NOT NULL AS deleted FROM tenancy.organizations) o
    ) every GROUP BY kind HAVING count(DISTINCT facts) > 1
  ) kinds`;

const checks = {
  "tenants that differ": differing,
  "devices that differ": `
    SELECT count(*)::int AS n FROM tenancy.devices d FULL JOIN device_logs.device l USING (id)
    WHERE d.status IS DISTINCT FROM l.status OR d.org_id IS DISTINCT FROM l.org_id`,
  "tokens of decommissioned devices": `
    SELECT count(*)::int AS n FROM identity.agent_tokens a JOIN tenancy.devices d ON d.id = a.device_id
    WHERE d.status = 'decommissioned' AND a.revoked_at IS NULL`,
  "broken chains": `
    SELECT count(*)::int AS n FROM (
      SELECT h.chain_id FROM audit.chain_head h LEFT JOIN audit.audit_log l USING (chain_id) GROUP BY h.chain_id, h.seq
      HAVING count(l.seq) <> h.seq OR coalesce(max(l.seq), 0) <> h.seq
    ) broken`,
  "partners without audit row": `
    SELECT count(*)::int AS n FROM tenancy.partners p WHERE NOT EXISTS (
      SELECT FROM audit.audit_log l WHERE l.chain_id = p.id AND l.action = 'partner.create')`,
  "messages given up": [...copies, "tenancy"]
    .map((schema) => `SELECT count(*)::int AS n FROM ${schema}.dead_letter`)
    .join(" UNION ALL "),
  deadlocks: "SELECT deadlocks::int AS n FROM pg_stat_database WHERE datname = current_database()",
};

/** What is wrong in the stores, by name, once nothing is, or after `patienceMs` at most. */
export async function whatIsWrong(databaseUrl: string, patienceMs: number): Promise<Record<string, number>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const until = performance.now() + patienceMs;
  try {
    for (;;) {
      const found: Record<string, number> = {};
      for (const [name, sql] of Object.entries(checks)) {
        const { rows } = await client.query<{ n: number }>(sql);
        found[name] = rows.reduce((sum, { n }) => sum + n, 0);
      }
      if (Object.values(found).every((n) => n === 0) || performance.now() > until) return found;
      await delay(500);
    }
  } finally {
    await client.end();
  }
}
