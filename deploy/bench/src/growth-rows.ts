import { createHash } from "node:crypto";
import { newApiKeyText } from "@muster/kit";
import type pg from "pg";

type Tenant = { orgId: string; partnerId: string };

/** The tables that grow, by what touches them. */
const tables = [
  "identity.api_keys",
  "tenancy.devices",
  "identity.agent_tokens",
  "audit.audit_log",
  "webhook_dispatcher.webhook_events",
  "webhook_dispatcher.webhook_deliveries",
];

/**
 * Rows `from + 1` … `to` of API keys, devices with tokens, audit rows of one chain, and events with their deliveries of
 * an hour ago: laid there, as large and as varied as real ones. Nothing that is measured reads these very rows, but
 * the `keysUsed` keys that are returned.
 */
export async function growRows(
  owner: pg.Client,
  tenant: Tenant,
  from: number,
  to: number,
  keysUsed: number,
): Promise<string[]> {
  const { orgId, partnerId } = tenant;
  const each = (text: string) => owner.query(text, [orgId, partnerId, from + 1, to]);
  const when = "now() - n * interval '0.1 second'";
  await each(
    `INSERT INTO identity.api_keys (id, org_id, partner_id, name, key_prefix, digest, scopes, rate_limit, status,
                                    created_by, created_at, updated_at)
     SELECT gen_random_uuid(), $1, $2, 'Key ' || n, 'svc_abcdefgh', sha256(n::text::bytea), '{devices:read}', 1000,
            'active', $2, ${when}, ${when} FROM generate_series($3::int, $4::int) n`,
  );
  await each(
    `WITH made AS (
       INSERT INTO tenancy.devices (id, org_id, partner_id, hostname, os, arch, agent_version, status, created_at, updated_at)
       SELECT gen_random_uuid(), $1, $2, 'host-' || n, 'linux', 'amd64', '1.0.' || n % 7, 'offline', ${when}, ${when}
       FROM generate_series($3::int, $4::int) n RETURNING id)
     INSERT INTO identity.agent_tokens (device_id, org_id, partner_id, digest, created_at)
     SELECT id, $1, $2, sha256(id::text::bytea), now() FROM made`,
  );
  // These rows have their own chain, so that the sealed chains stay intact.
  await owner.query(
    `INSERT INTO audit.audit_log (chain_id, seq, id, org_id, partner_id, timestamp, actor_type, actor_id, actor_email,
       actor_name, actor_role, action, resource_type, resource_id, resource_name, details, ip_address, user_agent, result,
       format, personal_salt, checksum, prev_checksum)
     SELECT $1, n, gen_random_uuid(), $1, $1, now() - n * interval '1 second', 'user', md5((n % 50)::text)::uuid,
       'person-' || n % 50 || '@example.com', 'Person ' || n % 50, 'org-admin', 'thing-' || n % 37 || '.update', 'device',
       md5((n % 5000)::text)::uuid, 'device-' || n % 5000,
       jsonb_build_object('changes', jsonb_build_object('after', jsonb_build_object('note', repeat('after ', 8)))),
       '192.0.2.' || n % 250, 'Mozilla/5.0', 'success', 1, '\\x00112233445566778899aabbccddeeff'::bytea,
       md5(n::text) || md5(n::text), repeat('0', 64)
     FROM generate_series($2::int, $3::int) n`,
    ["018f0000-0000-7000-8000-0000000000aa", from + 1, to],
  );
  await each(
    `WITH f AS MATERIALIZED (
       SELECT gen_random_uuid() AS id, gen_random_uuid() AS event_id, now() - interval '1 hour' AS at
       FROM generate_series($3::int, $4::int)), e AS (
       INSERT INTO webhook_dispatcher.webhook_events (org_id, id, occurred_at, partner_id, type, body)
       SELECT $1, event_id, at, $2, 'device.online', repeat('x', 300) FROM f)
     INSERT INTO webhook_dispatcher.webhook_deliveries (id, created_at, webhook_id, org_id, partner_id, event_id, event,
       status, attempt, delivered_at, finished_at)
     SELECT id, at, $1, $1, $2, event_id, 'device.online', 'delivered', 1, at, at FROM f`,
  );
  const keys = Array.from({ length: keysUsed }, () => newApiKeyText());
  await owner.query(
    `INSERT INTO identity.api_keys (id, org_id, partner_id, name, key_prefix, digest, scopes, rate_limit, status,
                                    created_by, created_at, updated_at)
     SELECT gen_random_uuid(), $1, $2, 'Used', 'svc_abcdefgh', digest, '{devices:read}', 1000, 'active', $2, now(), now()
     FROM unnest($3::bytea[]) AS digest`,
    [orgId, partnerId, keys.map((key) => createHash("sha256").update(key).digest())],
  );
  // Autovacuum would come in the middle of what is measured.
  for (const table of tables) await owner.query(`VACUUM (ANALYZE) ${table}`);
  return keys;
}
