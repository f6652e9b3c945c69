import type pg from "pg";
import { type Call, newOrganization } from "./administrator.ts";
import { type Fill, timeList, withLists } from "./http-lists.ts";
import type { Report } from "./report.ts";

const calls = 50;
const limitMs = 100;

/**
 * `npm run bench -- user-lists [rows] [folder]`: GET /users over HTTP with `rows` users (1,000,000) in one organization
 * and a tenth as many elsewhere: lists, and searches that find few, many, or no users. Ends with status 1 when the p99
 * of one that finds its page is above 100 ms. A folder keeps the cluster's data: filled the first time, only measured
 * the next.
 */
export async function run([rows = "1000000", folder]: string[], report: Report): Promise<void> {
  const filled = async (root: Call, fill: Fill) => {
    const { partnerId, orgId } = await newOrganization(root);
    const { partnerId: otherPartner, orgId: otherOrg } = await newOrganization(root);
    await fill(async (owner) => {
      await insertUsers(owner, Number(rows), partnerId, orgId, "org-viewer");
      // A role that few users have here and all users there.
      await insertUsers(owner, Number(rows) / 10, otherPartner, otherOrg, "org-admin");
    });
    return orgId;
  };
  const measured = async (root: Call, orgId: string) => {
    const of = `orgId=${orgId}`;
    const results = [];
    for (const [what, path] of [
      ["everybody, everywhere", "/users"],
      ["of the organization", `/users?${of}`],
      ["… status=disabled (one in 100,000)", `/users?${of}&status=disabled`],
      ["… role that one in 100,000 has", `/users?${of}&role=org-admin`],
      ["… role of all the others", `/users?${of}&role=org-viewer`],
      ["… search: one person's address", `/users?${of}&search=p777@many`],
      ["… search: ten people", `/users?${of}&search=rare`],
      ["… search: one in a thousand", `/users?${of}&search=grace`],
      ["… search: one in a hundred", `/users?${of}&search=ada`],
      ["… search: everybody", `/users?${of}&search=smith`],
      ["… search: everybody and ten", `/users?${of}&search=smith%20rare`],
      ["… search: nobody", `/users?${of}&search=nobody`],
      ["everywhere, search: everybody", "/users?search=many"],
      ["… search: the oldest 5,000 (walks them all)", `/users?${of}&search=old`],
    ] as const) {
      results.push(await timeList(root, what, path, calls));
    }
    console.table(results);
    const [last] = results.slice(-1);
    report.atMost("slowest list, p99", Math.max(...results.slice(0, -1).map((each) => each["p99 ms"])), "ms", limitMs);
    for (const { list, "p99 ms": p99 } of results) report.also(`${list}, p99`, p99, "ms");
    if (results.some((result) => result !== last && result["p99 ms"] > limitMs)) process.exitCode = 1;
  };
  await withLists(filled, measured, folder);
}

async function insertUsers(
  owner: pg.Client,
  rows: number,
  partnerId: string,
  orgId: string,
  role: string,
): Promise<void> {
  // Words are written in one go below.
  await owner.query("ALTER TABLE identity.users DISABLE TRIGGER users_words");
  await owner.query(
    `INSERT INTO identity.users (id, email, name, scope, partner_id, org_id, role_id, status, created_at, updated_at)
     SELECT gen_random_uuid(), 'p' || n || '@many.' || right($1::uuid::text, 12) || '.example',
            CASE WHEN n % 100000 = 1 THEN 'Rare ' WHEN n % 1000 = 2 THEN 'Grace ' WHEN n % 100 = 3 THEN 'Ada ' ELSE 'Max ' END
              || CASE WHEN n > $3::int - 5000 THEN 'Old ' ELSE '' END || 'Smith',
            'organization', $2::uuid, $1::uuid,
            (SELECT id FROM identity.roles WHERE key = CASE WHEN n % 100000 = 5 THEN 'org-admin' ELSE $4 END),
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
}
