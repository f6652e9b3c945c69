import type pg from "pg";
import { type Call, newOrganization } from "./administrator.ts";
import { type Fill, timeList, withLists } from "./http-lists.ts";
import type { Report } from "./report.ts";

const calls = 1_000;
const limitMs = 20;

type Owner = { partnerId: string; orgId: string };

/**
 * `npm run bench -- attention [devices] [folder]`: GET /attention over HTTP with `devices` devices (50,000) of two
 * organizations, and beside them API keys, providers with sign-ins, directories and webhooks, of which one in a hundred
 * needs attention. Ends with status 1 when a p99 is above 20 ms. A folder keeps the cluster's data: filled the first
 * time, only measured the next.
 */
export async function run([devices = "50000", folder]: string[], report: Report): Promise<void> {
  const filled = async (root: Call, fill: Fill) => {
    const owners = [await newOrganization(root), await newOrganization(root)];
    await fill(async (owner) => {
      for (const each of owners) await insertRecords(owner, each, Number(devices) / owners.length);
      await owner.query("VACUUM ANALYZE");
    });
    return owners[0]?.orgId ?? "";
  };
  const measured = async (root: Call, orgId: string) => {
    const results = [
      await timeList(root, "everywhere", "/attention", calls),
      await timeList(root, "of an organization", `/attention?orgId=${orgId}`, calls),
    ];
    console.table(results);
    for (const { list, "p50 ms": p50, "p99 ms": p99 } of results) {
      report.atMost(`${list}, p99`, p99, "ms", limitMs);
      report.also(`${list}, p50`, p50, "ms");
    }
    if (results.some((result) => result["p99 ms"] > limitMs)) process.exitCode = 1;
  };
  await withLists(filled, measured, folder);
}

/** Beside n devices n/10 API keys, n/250 providers of 50 sign-ins each, n/500 directories and n/50 webhooks. */
async function insertRecords(owner: pg.Client, { partnerId, orgId }: Owner, devices: number): Promise<void> {
  const insert = (into: string, select: string, rows: number) =>
    owner.query(`INSERT INTO ${into} SELECT ${select} FROM generate_series(1, $3::int) AS n`, [
      orgId,
      partnerId,
      Math.floor(rows),
    ]);
  await insert(
    "tenancy.devices (org_id, partner_id, id, hostname, os, arch, agent_version, status, created_at, updated_at)",
    `$1::uuid, $2::uuid, gen_random_uuid(), 'host-' || n, 'linux', 'amd64', '1.0.0',
     CASE WHEN n % 100 = 0 THEN 'quarantined' ELSE 'offline' END, now() - n * interval '1 second', now()`,
    devices,
  );
  await insert(
    `identity.api_keys (org_id, partner_id, id, name, key_prefix, digest, scopes, rate_limit, status, expires_at, created_by,
                        created_at, updated_at)`,
    `$1::uuid, $2::uuid, gen_random_uuid(), 'Key ' || n, 'svc_abcdefgh', sha256(($1::uuid || n::text)::bytea), '{devices:read}',
     1000, 'active', now() + CASE WHEN n % 100 = 0 THEN interval '7 days' ELSE interval '90 days' END, gen_random_uuid(),
     now(), now()`,
    devices / 10,
  );
  await insert(
    `identity.sso_providers (org_id, partner_id, id, name, type, status, scopes, saml_certificates, created_by, created_at,
                             updated_at)`,
    `$1::uuid, $2::uuid, md5($1::uuid || 'provider' || n)::uuid, 'Provider ' || n, 'saml', 'active', '',
     jsonb_build_array(jsonb_build_object('notAfter', now() + CASE WHEN n % 100 = 0 THEN interval '7 days' ELSE interval '1 year' END)),
     gen_random_uuid(), now(), now()`,
    devices / 250,
  );
  await insert(
    "identity.sso_attempts (org_id, partner_id, id, provider_id, kind, outcome, reason, step, created_at)",
    `$1::uuid, $2::uuid, gen_random_uuid(), md5($1::uuid || 'provider' || 1 + (n - 1) / 50)::uuid, 'login',
     CASE WHEN (n - 1) % 5000 < 50 THEN 'failure' ELSE 'success' END, CASE WHEN (n - 1) % 5000 < 50 THEN 'idp_error' END, 'tokens',
     now() - (50 - n % 50) * interval '1 second'`,
    (devices / 250) * 50,
  );
  await insert(
    "identity.directories (org_id, partner_id, id, name, created_by, created_at, updated_at)",
    `$1::uuid, $2::uuid, md5($1::uuid || 'directory' || n)::uuid, 'Directory ' || n, gen_random_uuid(), now(), now()`,
    devices / 500,
  );
  await insert(
    "identity.directory_tokens (org_id, partner_id, id, directory_id, digest, prefix, created_at)",
    `$1::uuid, $2::uuid, gen_random_uuid(), md5($1::uuid || 'directory' || n)::uuid, sha256(($1::uuid || n::text)::bytea),
     'scim_', now()`,
    devices / 500,
  );
  await insert(
    `webhook_dispatcher.webhooks (org_id, partner_id, id, name, url_sealed, url_shown, headers_sealed, events, created_by,
                                  created_at, updated_at)`,
    `$1::uuid, $2::uuid, md5($1::uuid || 'webhook' || n)::uuid, 'Webhook ' || n, '', 'https://receiver.example/', '', '{*}',
     'bench', now() - n * interval '1 second', now()`,
    devices / 50,
  );
  await insert(
    "webhook_dispatcher.webhook_endpoint_state (org_id, partner_id, webhook_id, failed_attempts, failing_since)",
    `$1::uuid, $2::uuid, md5($1::uuid || 'webhook' || n)::uuid, CASE WHEN n % 100 = 0 THEN 9 ELSE 0 END,
     CASE WHEN n % 100 = 0 THEN now() END`,
    devices / 50,
  );
}
