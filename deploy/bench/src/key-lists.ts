import type pg from "pg";
import { type Call, newOrganization } from "./administrator.ts";
import { type Fill, timeList, withLists } from "./http-lists.ts";
import type { Report } from "./report.ts";

const calls = 100;
const limitMs = 50;

/**
 * `npm run bench -- key-lists [rows]`: GET /api-keys and /enrollment-keys over HTTP with `rows` rows of each
 * (1,000,000) in one organization, one in 100,000 of them revoked or expired. Ends with status 1 when a p99 is above 50
 * ms.
 */
export async function run([rows = "1000000"]: string[], report: Report): Promise<void> {
  const filled = async (root: Call, fill: Fill) => {
    const { partnerId, orgId } = await newOrganization(root);
    await fill((owner) => insertKeys(owner, Number(rows), partnerId, orgId));
    return orgId;
  };
  await withLists(filled, async (root, orgId) => {
    const of = `orgId=${orgId}`;
    const paths = [
      "/api-keys?skipCount=true",
      `/api-keys?${of}`,
      `/api-keys?${of}&status=active`,
      `/api-keys?${of}&status=revoked`,
      `/api-keys?${of}&status=expired`,
      "/api-keys?status=revoked",
      "/enrollment-keys",
      `/enrollment-keys?${of}`,
      `/enrollment-keys?${of}&expired=true`,
      `/enrollment-keys?${of}&expired=false`,
    ];
    const results = [];
    for (const path of paths) results.push(await timeList(root, path.replace(orgId, "…"), path, calls));
    console.table(results);
    for (const { list, "p99 ms": p99 } of results) report.atMost(`${list}, p99`, p99, "ms", limitMs);
    if (results.some((result) => result["p99 ms"] > limitMs)) process.exitCode = 1;
  });
}

async function insertKeys(owner: pg.Client, rows: number, partnerId: string, orgId: string): Promise<void> {
  const when = "now() - n * interval '1 second'";
  await owner.query(
    `INSERT INTO identity.api_keys (id, org_id, partner_id, name, key_prefix, digest, scopes, rate_limit, status, expires_at,
                                    created_by, created_at, updated_at)
     SELECT gen_random_uuid(), $1, $2, 'Key ' || n, 'svc_abcdefgh', sha256(n::text::bytea), '{devices:read}', 1000,
            CASE WHEN n % 100000 = 1 THEN 'revoked' WHEN n % 100000 = 2 THEN 'expired' ELSE 'active' END,
            CASE WHEN n % 100000 = 3 THEN ${when} END, $2, ${when}, ${when}
     FROM generate_series(1, $3::int) AS n`,
    [orgId, partnerId, rows],
  );
  await owner.query(
    `INSERT INTO identity.enrollment_keys (id, org_id, partner_id, name, key_prefix, digest, pepper_id, max_usage, expires_at, created_by,
                                           created_at, updated_at)
     SELECT gen_random_uuid(), $1, $2, 'Key ' || n, '0123456789ab', sha256(n::text::bytea), 'bench', 1,
            now() + CASE WHEN n % 100000 = 1 THEN interval '1 day' ELSE interval '-1 day' END, $2, ${when}, ${when}
     FROM generate_series(1, $3::int) AS n`,
    [orgId, partnerId, rows],
  );
  await owner.query("ANALYZE identity.api_keys, identity.enrollment_keys");
}
