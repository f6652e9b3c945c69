import { openDatabase, type Query, sql } from "@muster/db";
import { createLogger, uuidv7 } from "@muster/kit";
import type { TestDatabase } from "@muster/testing";

export const yearMs = 365 * 86_400_000;
const chunkRows = 50_000;
const fillMs = 600_000;

export type Fleet = { partnerId: string; hotOrgId: string; orgIds: string[] };

/**
 * `hotRows` rows of one organization and `coldRows` (as many) spread over 99 others of its partner and 100 of another,
 * over the last year, as the owner. Not sealed (checksums are made up), of the size and variety of real rows.
 */
export async function fillLists(database: TestDatabase, hotRows: number, coldRows = hotRows): Promise<Fleet> {
  const owner = openDatabase({
    url: database.ownerUrl,
    max: 2,
    name: "bench-fill",
    log: createLogger("bench", "fatal"),
  });
  const [partnerId, otherPartnerId] = [uuidv7(), uuidv7()];
  const orgIds = Array.from({ length: 100 }, () => uuidv7().replace(/.$/, () => hexDigit()));
  const outsiders = Array.from({ length: 100 }, () => uuidv7().replace(/.$/, () => hexDigit()));
  const hotOrgId = orgIds[0] as string;
  const endMs = performance.now() + fillMs;
  const run = (statement: Query) =>
    owner.tx({ caller: null, deadlineMs: endMs }, async (tx) => void (await tx.execute(statement)));
  try {
    const chunks = Math.ceil(hotRows / chunkRows);
    const coldEach = Math.floor(coldRows / chunks / 199);
    for (let chunk = 0; chunk < chunks; chunk++) {
      const from = chunk * chunkRows;
      await Promise.all([
        run(rowsOf([hotOrgId], [partnerId], from, Math.min(chunkRows, hotRows - from), hotRows)),
        run(
          rowsOf(
            [...orgIds.slice(1), ...outsiders],
            [...orgIds.slice(1).map(() => partnerId), ...outsiders.map(() => otherPartnerId)],
            chunk * coldEach,
            coldEach,
            coldEach * chunks,
          ),
        ),
      ]);
    }
    await run(sql`INSERT INTO chain_head (chain_id, org_id, partner_id, seq, checksum)
      SELECT chain_id, chain_id, min(partner_id::text)::uuid, max(seq), repeat('0', 64) FROM audit_log GROUP BY chain_id`);
    await run(sql`ANALYZE audit_log, chain_head`);
  } finally {
    await owner.close();
  }
  return { partnerId, hotOrgId, orgIds };
}

const hexDigit = () => Math.floor(Math.random() * 16).toString(16);

/** Rows `from + 1` … `from + count` of each chain; a chain's `whole` rows cover the year. */
function rowsOf(chains: string[], partners: string[], from: number, count: number, whole: number): Query {
  return sql`
    INSERT INTO audit_log (chain_id, seq, id, org_id, partner_id, timestamp, actor_type, actor_id, actor_email, actor_name,
      actor_role, action, resource_type, resource_id, resource_name, details, ip_address, user_agent, result, format,
      personal_salt, checksum, prev_checksum)
    SELECT c.chain_id, n, (substr(ms, 1, 8) || '-' || substr(ms, 9, 4) || '-7' || substr(h, 1, 3) || '-8' || substr(h, 4, 3)
        || '-' || substr(h, 7, 12))::uuid,
      c.chain_id, c.partner_id, at, 'user', md5((n % 50)::text)::uuid,
      CASE WHEN n % 400000 = 7 THEN 'rare@example.net' ELSE 'person-' || n % 50 || '@example.com' END,
      'Person ' || n % 50, 'org-admin',
      CASE WHEN n % 100000 = 0 THEN 'site.delete' WHEN n % 10 = 0 THEN 'device.update' WHEN n % 3 = 0 THEN 'user.login'
           ELSE 'thing-' || n % 37 || '.update' END,
      'device', md5((n % 5000)::text)::uuid, 'device-' || n % 5000,
      jsonb_build_object('changes', jsonb_build_object(
        'before', jsonb_build_object('hostname', 'host-' || n, 'note', repeat('before ', 8)),
        'after', jsonb_build_object('hostname', 'host-' || n + 1, 'note', repeat('after ', 8)))),
      '192.0.2.' || n % 250, 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)', 'success', 1,
      '\\x00112233445566778899aabbccddeeff'::bytea, h || h, repeat('0', 64)
    FROM generate_series(${from + 1}::bigint, ${from + count}::bigint) n
    CROSS JOIN unnest(${chains}::uuid[], ${partners}::uuid[]) AS c (chain_id, partner_id)
    CROSS JOIN LATERAL (SELECT now() - (1 - n::float8 / ${whole}::float8) * interval '365 days' AS at) t
    CROSS JOIN LATERAL (SELECT lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') AS ms,
                               md5(n::text || c.chain_id::text) AS h) x`;
}
