import type { Owner } from "./database.ts";
import type { Kind, Target } from "./model.ts";

/** Where records are stored; what they only note of their use is left out. */
const tables: Partial<Record<Kind, { table: string; without: string }>> = {
  partner: { table: "tenancy.partners", without: "" },
  organization: { table: "tenancy.organizations", without: "" },
  site: { table: "tenancy.sites", without: "" },
  device: { table: "tenancy.devices", without: "" },
  bulk_job: { table: "tenancy.device_bulk_jobs", without: "" },
  device_group: { table: "tenancy.device_groups", without: "" },
  user: { table: "identity.users", without: "" },
  role: { table: "identity.roles", without: "" },
  api_key: { table: "identity.api_keys", without: "- 'last_used_at' - 'usage_count'" },
  service_principal: { table: "identity.service_principals", without: "" },
  webhook: { table: "webhook_dispatcher.webhooks", without: "" },
  delivery: { table: "webhook_dispatcher.webhook_deliveries", without: "" },
  replay: { table: "webhook_dispatcher.webhook_replays", without: "" },
  portal_link: { table: "identity.portal_links", without: "" },
  dead_letter: { table: "webhook_dispatcher.webhook_dead_letters", without: "" },
  audit_alert: { table: "audit.audit_alerts", without: "" },
  audit_stream: { table: "audit.audit_streams", without: "" },
  sso_provider: { table: "identity.sso_providers", without: "" },
  directory: { table: "identity.directories", without: "" },
  scim_group: { table: "identity.scim_groups", without: "" },
  sso_domain: { table: "identity.sso_domains", without: "" },
  sso_attempt: { table: "identity.sso_attempts", without: "" },
  enrollment_key: { table: "identity.enrollment_keys", without: "" },
};

/** A digest of each stored record, by table and id. */
export async function digests(owner: Owner, targets: readonly Target[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const [kind, { table, without }] of Object.entries(tables)) {
    const ids = targets.filter((t) => t.kind === kind && t.state !== "malformed").map(({ id }) => id);
    if (ids.length === 0) continue;
    const rows = await owner.rows<{ id: string; digest: string }>(
      `SELECT id, md5((to_jsonb(t) ${without})::text) AS digest FROM ${table} t WHERE id = ANY ($1::uuid[])`,
      [ids],
    );
    for (const { id, digest } of rows) found.set(`${table}/${id}`, digest);
  }
  return found;
}

/** Names that begin so, of all tables of tenancy and identity that have names. */
export async function namesOf(owner: Owner, prefix: string): Promise<string[]> {
  const columns = await owner.rows<{ text: string }>(
    `SELECT format('SELECT %I AS name FROM %I.%I', column_name, table_schema, table_name) AS text
     FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
     WHERE table_schema IN ('tenancy', 'identity', 'webhook_dispatcher') AND column_name IN ('name', 'hostname') AND table_type = 'BASE TABLE'`,
  );
  const union = columns.map(({ text }) => text).join(" UNION ");
  const rows = await owner.rows<{ name: string }>(`SELECT name FROM (${union}) n WHERE starts_with(name, $1)`, [
    prefix,
  ]);
  return rows.map(({ name }) => name);
}

/** Reports of a webhook that fails, which the platform writes by itself at any time, and the mails about it. */
const reports = "^(webhook_health|webhook_health_notices|notification_lines)$";
const withoutReports: Readonly<Record<string, string>> = {
  "webhook_dispatcher.webhook_events": "type <> 'webhook.health_changed'",
};

/**
 * Numbers of a partner's rows in each table of tenancy, identity and webhooks that names the partner, and in the logs
 * of devices, without what the platform reports by itself.
 */
export async function rowCounts(owner: Owner, partnerId: string): Promise<Map<string, number>> {
  const tables = await owner.rows<{ name: string }>(
    `SELECT format('%I.%I', table_schema, table_name) AS name
     FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
     WHERE (table_schema IN ('tenancy', 'identity') OR table_schema = 'device_logs' AND table_name ~ '^(agent|event)_log$'
            OR table_schema = 'webhook_dispatcher' AND table_name !~ '_[0-9]{8}$')
       AND column_name = 'partner_id' AND table_type = 'BASE TABLE' AND table_name !~ $1
     ORDER BY name`,
    [reports],
  );
  const counts = new Map<string, number>();
  for (const { name } of tables) {
    const [row] = await owner.rows<{ n: string }>(
      `SELECT count(*) AS n FROM ${name} WHERE partner_id = $1 AND ${withoutReports[name] ?? "true"}`,
      [partnerId],
    );
    counts.set(name, Number(row?.n));
  }
  return counts;
}
