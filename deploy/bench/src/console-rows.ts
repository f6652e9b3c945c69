import type pg from "pg";

/** So many devices of one organization, written where tenancy reads: a tenth offline, the newest first. */
export async function insertDevices(owner: pg.Client, rows: number, partnerId: string, orgId: string): Promise<void> {
  await owner.query(
    `INSERT INTO tenancy.devices (id, org_id, partner_id, hostname, os, arch, agent_version, status, last_seen_at,
                                  last_ip_address, created_at, updated_at)
     SELECT gen_random_uuid(), $1::uuid, $2::uuid, 'host-' || n, (ARRAY['linux', 'windows', 'darwin'])[n % 3 + 1], 'amd64',
            '1.4.' || n % 5, CASE WHEN n % 10 = 0 THEN 'offline' ELSE 'updating' END, now(), '192.0.2.1',
            now() - n * interval '1 second', now()
     FROM generate_series(1, $3::int) AS n`,
    [orgId, partnerId, rows],
  );
  await owner.query("VACUUM ANALYZE tenancy.devices");
}

/** So many audit rows of one organization over a year. Their chain is not one: they are read, not verified. */
export async function insertAuditRows(owner: pg.Client, rows: number, partnerId: string, orgId: string): Promise<void> {
  await owner.query(
    `INSERT INTO audit.audit_log (chain_id, seq, id, org_id, partner_id, timestamp, actor_type, actor_id, actor_email,
       action, resource_type, resource_id, resource_name, details, ip_address, result, format, personal_salt, checksum)
     SELECT $1::uuid, 1000000 + n, gen_random_uuid(), $1::uuid, $2::uuid, now() - n * interval '30 seconds', 'user',
            md5((n % 50)::text)::uuid, 'person-' || n % 50 || '@example.com',
            CASE WHEN n % 10 = 0 THEN 'device.update' ELSE 'thing-' || n % 37 || '.update' END, 'device',
            md5((n % 5000)::text)::uuid, 'device-' || n % 5000, '{"changes": {"before": {}, "after": {}}}', '192.0.2.1',
            'success', 1, '\\x00112233445566778899aabbccddeeff'::bytea, repeat('0', 64)
     FROM generate_series(1, $3::int) AS n`,
    [orgId, partnerId, rows],
  );
  await owner.query("VACUUM ANALYZE audit.audit_log");
}
