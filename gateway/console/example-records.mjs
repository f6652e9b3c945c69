// How old the records of the example fleet are, and what became of them before: keys that were used, people who signed
// in, with a password or through a provider, and rollouts that are over.

/** A number below `below` that belongs to a record. */
const partOf = (of, below) => `abs(hashtext(${of}::text)) % ${below}`;
const daysBefore = (least, spread, of) => `created_at - (${least} + ${partOf(of, spread)}) * interval '1 day'`;
const ages = { "2.5.0": 1, "2.4.3": 21, "2.4.2": 30, "2.4.1": 48, "2.3.9": 90, "1.2.0": 2, "1.1.0": 64, "1.0.4": 150 };
const versionAge = `(CASE r.version ${Object.entries(ages)
  .map(([version, days]) => `WHEN '${version}' THEN ${days}`)
  .join(" ")} END * interval '1 day')`;

/** Records are as old as they are at a provider who has had its customers for some time. */
const aged = [
  `UPDATE tenancy.organizations SET created_at = ${daysBefore(40, 700, "id")}`,
  `UPDATE tenancy.sites SET created_at = ${daysBefore(30, 200, "id")}`,
  `UPDATE tenancy.devices SET created_at = ${daysBefore(3, 240, "hostname")} WHERE status <> 'quarantined'`,
  `UPDATE agent_release.release r SET created_at = created_at - ${versionAge},
     yanked_at = CASE WHEN yanked_at IS NULL THEN NULL ELSE now() - interval '28 days' END`,
  `UPDATE agent_release.rollout t SET created_at = t.created_at - ${versionAge} + interval '4 hours'
   FROM agent_release.release r WHERE r.id = t.release_id AND (t.state IN ('completed', 'cancelled') OR t.kind = 'guard')`,
  `UPDATE identity.directories SET created_at = ${daysBefore(50, 300, "id")}`,
  `UPDATE identity.directory_tokens k SET created_at = d.created_at FROM identity.directories d WHERE d.id = k.directory_id`,
  `UPDATE identity.sso_providers SET created_at = ${daysBefore(60, 300, "id")}`,
  `UPDATE webhook_dispatcher.webhooks SET created_at = ${daysBefore(30, 300, "id")}`,
];

/** Keys: some are used each minute, some once a night, one has not been for two months, and one has ended. */
const keys = [
  `UPDATE identity.api_keys SET created_at = ${daysBefore(20, 300, "id")},
     usage_count = 200 + ${partOf("name", 90_000)},
     last_used_at = now() - CASE name WHEN 'Store displays' THEN interval '63 days' WHEN 'Compliance export' THEN interval '11 hours'
       ELSE (2 + ${partOf("name", 50)}) * interval '1 minute' END
   WHERE status = 'active'`,
  `UPDATE identity.api_keys SET last_used_at = now() - interval '40 days', usage_count = 51204, created_at = now() - interval '400 days',
     revoked_at = now() - interval '39 days'
   WHERE status = 'revoked'`,
];

/** People signed in today or in the last days; those of directories do so through a provider. */
const signIns = [
  `UPDATE identity.users SET created_at = created_at - (30 + ${partOf("email", 400)}) * interval '1 day',
     last_login_at = now() - (1 + ${partOf("email", 70)}) * interval '43 minutes'
   WHERE status = 'active' AND scope <> 'system'`,
  `UPDATE identity.users SET created_at = created_at - interval '380 days', last_login_at = now() - interval '47 days'
   WHERE status = 'disabled'`,
  `INSERT INTO identity.sso_attempts (id, provider_id, partner_id, org_id, kind, outcome, step, reason, detail, email, address, created_at)
   SELECT gen_random_uuid(), p.id, p.partner_id, p.org_id, 'login', CASE WHEN n % 17 = 5 THEN 'failure' ELSE 'success' END,
     CASE WHEN n % 17 = 5 THEN 'person' ELSE 'code' END, CASE WHEN n % 17 = 5 THEN 'user_not_found' END,
     CASE WHEN n % 17 = 5 THEN 'No person has this address' END,
     (ARRAY['mio.tanaka', 'lea.fischer', 'tom.okafor', 'emi.kato'])[1 + n % 4] || '@globex.example', '203.0.113.24',
     now() - (n * n * 4 + ${partOf("n", 30)} + 9) * interval '1 minute'
   FROM identity.sso_providers p CROSS JOIN generate_series(1, 40) n WHERE p.status = 'active'`,
];

/** What rollouts that are over did: all devices that run their version or a newer one took it from the one before. */
const rollouts = [
  ["2.4.1", "2.3.9", "d.agent_version <> '2.3.9'"],
  ["2.4.3", "2.4.1", "d.agent_version IN ('2.4.3', '2.5.0')"],
  ["2.4.2", "2.4.1", "d.hostname LIKE 'osa-pos-%'"],
].map(
  ([version, before, whose]) => `
   INSERT INTO agent_release.update_attempt (id, device_id, org_id, partner_id, site_id, component, release_id, version, rollout_id,
     from_version, platform, wave, state, offered_at, deadline, returned_at, ended_at, reason)
   SELECT gen_random_uuid(), d.id, d.org_id, d.partner_id, d.site_id, 'agent', r.id, r.version, t.id, '${before}', d.os || '/' || d.arch,
     CASE WHEN d.org_id = $1 THEN 0 ELSE 1 END, w.state, w.at, w.at + interval '5 minutes',
     CASE WHEN w.state = 'succeeded' THEN w.at + interval '70 seconds' END, w.at + interval '190 seconds',
     CASE WHEN w.state = 'failed' THEN 'rolled_back' END
   FROM agent_release.rollout t JOIN agent_release.release r ON r.id = t.release_id AND r.version = '${version}'
   JOIN tenancy.devices d ON ${whose} AND d.status <> 'quarantined'
   CROSS JOIN LATERAL (
     SELECT t.created_at + (10 + ${partOf("d.id", 2_000)}) * interval '1 minute' AS at,
       CASE WHEN ${partOf("d.hostname", version === "2.4.2" ? 3 : 400)} = 0 THEN 'failed' ELSE 'succeeded' END AS state
   ) w
   WHERE t.kind = 'staged' AND t.state IN ('completed', 'cancelled')`,
);
const counted = `
  UPDATE agent_release.rollout t SET succeeded = c.succeeded, failed = c.failed
  FROM (SELECT rollout_id, count(*) FILTER (WHERE state = 'succeeded') AS succeeded, count(*) FILTER (WHERE state = 'failed') AS failed
        FROM agent_release.update_attempt GROUP BY 1) c
  WHERE c.rollout_id = t.id AND t.state IN ('completed', 'cancelled')`;

/** Writes it over a connection as an administrator of the database, for the customer whose devices went first. */
export async function pastRecords(client, orgId) {
  for (const statement of [...aged, ...keys, ...signIns]) await client.query(statement);
  for (const statement of rollouts) await client.query(statement, [orgId]);
  await client.query(counted);
}
