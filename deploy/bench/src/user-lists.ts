import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { startStack } from "@muster/local";
import pg from "pg";
import { type Call, newAdministrator, newOrganization, password, sameAdministrator } from "./administrator.ts";

const calls = 50;
const barMs = 100;

/** What a filled data folder is measured with. */
type Filled = { secret: string; orgId: string };

/**
 * `npm run bench -- user-lists [rows] [folder]`: GET /users over HTTP with so many people (1,000,000) in one organization and a tenth as
 * many elsewhere: lists, and searches that find few, many, or nobody. Ends with status 1 when the p99 of one that finds its page
 * is above 100 ms. A folder keeps the cluster's data: filled the first time, only measured the next.
 */
export async function run([rows = "1000000", folder]: string[] = []): Promise<void> {
  const running = await startStack({
    adminPassword: password,
    env: { PASSWORD_SCRYPT_LOG_N: "12", SESSION_RATE_LIMIT: "1000000000" },
    ...(folder ? { dataDir: resolve(folder) } : {}),
  });
  try {
    const [gateway] = running.stack.gateways;
    if (!gateway) throw new Error("the cluster has no gateway");
    const note = join(running.dataDir, "user-lists.json");
    const filled = existsSync(note) ? (JSON.parse(readFileSync(note, "utf8")) as Filled) : null;
    const made = filled ? null : await fillAll(gateway.url, running.stack.databaseUrl, Number(rows));
    if (made) writeFileSync(note, JSON.stringify(made.filled), { mode: 0o600 });
    const root = made?.root ?? (await sameAdministrator(gateway.url, filled?.secret ?? ""));
    const orgId = (made?.filled ?? filled)?.orgId ?? "";
    const of = `orgId=${orgId}`;
    const results = [];
    for (const [what, path] of [
      ["everybody, everywhere", "/users"],
      ["of the organization", `/users?${of}`],
      ["… status=disabled (one in 100,000)", `/users?${of}&status=disabled`],
      ["… role that one in 100,000 has", `/users?${of}&role=org-admin`],
      ["… role of all the others", `/users?${of}&role=org-viewer`],
      ["… q: one person's address", `/users?${of}&q=p777@many`],
      ["… q: ten people", `/users?${of}&q=rare`],
      ["… q: one in a thousand", `/users?${of}&q=grace`],
      ["… q: one in a hundred", `/users?${of}&q=ada`],
      ["… q: everybody", `/users?${of}&q=smith`],
      ["… q: everybody and ten", `/users?${of}&q=smith%20rare`],
      ["… q: nobody", `/users?${of}&q=nobody`],
      ["everywhere, q: everybody", "/users?q=many"],
      ["… q: the oldest 5,000 (walks them all)", `/users?${of}&q=old`],
    ] as const) {
      results.push(await measure(root, what, path));
    }
    console.table(results);
    if (results.slice(0, -1).some((result) => result["p99 ms"] > barMs)) process.exitCode = 1;
  } finally {
    await running.stop();
  }
}

async function fillAll(url: string, databaseUrl: string, rows: number): Promise<{ root: Call; filled: Filled }> {
  const { call: root, secret } = await newAdministrator(url);
  const { partnerId, orgId } = await newOrganization(root);
  const { partnerId: otherPartner, orgId: otherOrg } = await newOrganization(root);
  await fill(databaseUrl, rows, partnerId, orgId, "org-viewer");
  // A role that few have here and everybody there.
  await fill(databaseUrl, rows / 10, otherPartner, otherOrg, "org-admin");
  return { root, filled: { secret, orgId } };
}

async function fill(databaseUrl: string, rows: number, partnerId: string, orgId: string, role: string): Promise<void> {
  const owner = new pg.Client({ connectionString: databaseUrl });
  await owner.connect();
  try {
    // Words are written in one go below.
    await owner.query("ALTER TABLE identity.users DISABLE TRIGGER users_words");
    await owner.query(
      `INSERT INTO identity.users (id, email, name, scope, partner_id, org_id, role_id, status, created_at, updated_at)
       SELECT gen_random_uuid(), 'p' || n || '@many.' || right($1::uuid::text, 12) || '.example',
              CASE WHEN n % 100000 = 1 THEN 'Rare ' WHEN n % 1000 = 2 THEN 'Grace ' WHEN n % 100 = 3 THEN 'Ada ' ELSE 'Max ' END
                || CASE WHEN n > $3::int - 5000 THEN 'Old ' ELSE '' END || 'Smith',
              'organization', $2::uuid, $1::uuid, (SELECT id FROM identity.roles WHERE key = CASE WHEN n % 100000 = 5 THEN 'org-admin' ELSE $4 END),
              CASE WHEN n % 100000 = 4 THEN 'disabled' ELSE 'active' END, now() - n * interval '1 second', now()
       FROM generate_series(1, $3::int) AS n`,
      [orgId, partnerId, rows, role],
    );
    await owner.query(
      `INSERT INTO identity.user_words (user_id, word, partner_id, org_id)
       SELECT u.id, word, u.partner_id, u.org_id FROM identity.users u, identity.words_of(u.name, u.email) AS word
       WHERE u.org_id = $1`,
      [orgId],
    );
    await owner.query("ALTER TABLE identity.users ENABLE TRIGGER users_words");
    await owner.query("VACUUM ANALYZE identity.users, identity.user_words");
  } finally {
    await owner.end();
  }
}

async function measure(root: Call, list: string, path: string) {
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
  return { list, answered, "p50 ms": at(0.5), "p99 ms": at(0.99) };
}
