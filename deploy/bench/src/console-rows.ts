import pg from "pg";

export type Tenant = { partnerId: string; orgId: string; webhookId: string };

/**
 * Inserts `rows` devices and audit rows, and a tenth as many deliveries of one paused webhook, into one organization.
 * Each table has its own connection; ids rise, so that no index is filled at random places.
 */
export async function fillTenant(databaseUrl: string, rows: number, tenant: Tenant): Promise<void> {
  const filled = async (fill: (owner: pg.Client) => Promise<void>) => {
    const owner = new pg.Client({ connectionString: databaseUrl });
    await owner.connect();
    try {
      await owner.query("SET synchronous_commit = off");
      await fill(owner);
    } finally {
      await owner.end();
    }
  };
  await Promise.all([
    filled((owner) => insertDevices(owner, rows, tenant)),
    filled(async (owner) => {
      await insertDeliveries(owner, rows / 10, tenant);
      await insertAuditRows(owner, rows, tenant);
    }),
  ]);
}

const risingId = (family: string) => `('018f6f1e-7c2a-7${family}-9e4f-' || lpad(to_hex(n), 12, '0'))::uuid`;

/** Inserted into tenancy's tables: a tenth offline, the newest first. */
async function insertDevices(owner: pg.Client, rows: number, { partnerId, orgId }: Tenant): Promise<void> {
  await owner.query(
    `INSERT INTO tenancy.devices (id, org_id, partner_id, hostname, os, arch, agent_version, status, last_seen_at,
                                  last_ip_address, created_at, updated_at)
     SELECT ${risingId("d00")}, $1::uuid, $2::uuid, 'host-' || n, (ARRAY['linux', 'windows', 'darwin'])[n % 3 + 1],
            'amd64', '1.4.' || n % 5, CASE WHEN n % 10 = 0 THEN 'offline' ELSE 'updating' END, now(), '192.0.2.1',
            now() - ($3::int - n) * interval '1 second', now()
     FROM generate_series(1, $3::int) AS n`,
    [orgId, partnerId, rows],
  );
  await owner.query("VACUUM ANALYZE tenancy.devices");
}

/** Audit rows over a year. They form no valid chain: they are read, not verified. */
async function insertAuditRows(owner: pg.Client, rows: number, { partnerId, orgId }: Tenant): Promise<void> {
  await owner.query(
    `INSERT INTO audit.audit_log (chain_id, seq, id, org_id, partner_id, timestamp, actor_type, actor_id, actor_email,
       action, resource_type, resource_id, resource_name, details, ip_address, result, format, personal_salt, checksum)
     SELECT $1::uuid, 1000000 + n, ${risingId("a00")}, $1::uuid, $2::uuid, now() - ($3::int - n) * interval '30 seconds',
            'user', md5((n % 50)::text)::uuid, 'person-' || n % 50 || '@example.com',
            CASE WHEN n % 10 = 0 THEN 'device.update' ELSE 'thing-' || n % 37 || '.update' END, 'device',
            md5((n % 5000)::text)::uuid, 'device-' || n % 5000, '{"changes": {"before": {}, "after": {}}}', '192.0.2.1',
            'success', 1, '\\x00112233445566778899aabbccddeeff'::bytea, repeat('0', 64)
     FROM generate_series(1, $3::int) AS n`,
    [orgId, partnerId, rows],
  );
  await owner.query("VACUUM ANALYZE audit.audit_log");
}

/** Of the last minutes, so that they lie on a day that the dispatcher has made room for; a tenth has failed. */
async function insertDeliveries(owner: pg.Client, rows: number, tenant: Tenant): Promise<void> {
  await owner.query(
    `WITH f AS MATERIALIZED (
       SELECT ${risingId("e00")} AS id, date_trunc('milliseconds', now()) - ($4::int - n) * interval '1 millisecond' AS at, n
       FROM generate_series(1, $4::int) AS n
     ), e AS (
       INSERT INTO webhook_dispatcher.webhook_events (org_id, id, occurred_at, partner_id, type, body)
       SELECT $2::uuid, id, at, $3::uuid, 'device.offline',
              json_build_object('id', id, 'type', 'device.offline', 'timestamp', at, 'orgId', $2::uuid, 'data',
                                json_build_object('hostname', 'host-' || n))::text FROM f
     )
     INSERT INTO webhook_dispatcher.webhook_deliveries
       (id, created_at, webhook_id, org_id, partner_id, event_id, event, status, attempt, delivered_at, finished_at,
        response_status, response_time_ms)
     SELECT id, at, $1::uuid, $2::uuid, $3::uuid, id, 'device.offline',
            CASE WHEN n % 10 = 0 THEN 'failed' ELSE 'delivered' END, 1, CASE WHEN n % 10 = 0 THEN NULL ELSE at END, at,
            CASE WHEN n % 10 = 0 THEN 500 ELSE 200 END, 12 FROM f`,
    [tenant.webhookId, tenant.orgId, tenant.partnerId, rows],
  );
  await owner.query("ANALYZE webhook_dispatcher.webhook_deliveries");
  await owner.query("ANALYZE webhook_dispatcher.webhook_events");
}
