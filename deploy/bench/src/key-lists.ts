import { startStack } from "@muster/local";
import pg from "pg";
import { administrator, type Call, newOrganization, password } from "./administrator.ts";

const calls = 100;
const barMs = 50;

/**
 * `npm run bench -- key-lists [rows]`: GET /api-keys and /enrollment-keys over HTTP with so many rows of each (1,000,000) in one
 * organization, one in 100,000 of them revoked or expired. Ends with status 1 when a p99 is above 50 ms.
 */
export async function run([rows = "1000000"]: string[] = []): Promise<void> {
  const running = await startStack({
    adminPassword: password,
    env: { PASSWORD_SCRYPT_LOG_N: "12", SESSION_RATE_LIMIT: "1000000000" },
  });
  try {
    const [gateway] = running.stack.gateways;
    if (!gateway) throw new Error("the cluster has no gateway");
    const root = await administrator(gateway.url);
    const { partnerId, orgId } = await newOrganization(root);
    await fill(running.stack.databaseUrl, Number(rows), partnerId, orgId);
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
    for (const path of paths) results.push(await measure(root, path, orgId));
    console.table(results);
    if (results.some((result) => result["p99 ms"] > barMs)) process.exitCode = 1;
  } finally {
    await running.stop();
  }
}

async function fill(databaseUrl: string, rows: number, partnerId: string, orgId: string): Promise<void> {
  const owner = new pg.Client({ connectionString: databaseUrl });
  await owner.connect();
  try {
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
  } finally {
    await owner.end();
  }
}

async function measure(root: Call, path: string, orgId: string) {
  const took: number[] = [];
  let answered = "";
  for (let n = 0; n < calls + 3; n++) {
    const startedMs = performance.now();
    const { status, body } = await root("GET", path);
    if (n >= 3) took.push(performance.now() - startedMs);
    const { total, totalIsEstimate } = body.pagination as { total: number | null; totalIsEstimate?: boolean };
    answered = `${status}: ${(body.data as unknown[]).length} of ${totalIsEstimate ? "~" : ""}${total}`;
  }
  took.sort((a, b) => a - b);
  const at = (share: number) => Math.round((took[Math.floor(took.length * share)] ?? 0) * 10) / 10;
  return { list: path.replace(orgId, "…"), answered, "p50 ms": at(0.5), "p99 ms": at(0.99) };
}
