import { expect, it } from "@jest/globals";
import pg from "pg";
import { callers } from "@muster/testing";
import { startTenancy } from "../testing/tenancy.ts";
import { sql } from "@muster/db";

it("scale", async () => {
  const t = await startTenancy();
  const p = await t.partner();
  const org = await t.organization(p.id);
  const c = new pg.Client({ connectionString: t.database.ownerUrl });
  await c.connect();
  await c.query(`insert into sites (id, org_id, partner_id, name, created_at, updated_at) select gen_random_uuid(), $1, $2, 'Site ' || (random()*1e6)::int, now(), now() from generate_series(1,1000000)`, [org, p.id]);
  await c.query(`insert into organizations (id, partner_id, name, slug, type, status, created_at, updated_at) select gen_random_uuid(), $1, 'Org ' || (random()*1e6)::int, 'x' || i, 'customer','active', now(), now() from generate_series(1,1000000) i`, [p.id]);
  await c.query("insert into sites (id, org_id, partner_id, name, created_at, updated_at) select gen_random_uuid(), id, partner_id, name, now(), now() from organizations limit 200000");
  await c.end();
  const su = new pg.Client({ connectionString: t.database.superuserUrl }); await su.connect(); await su.query("vacuum analyze"); await su.end();
  const out: string[] = [];
  const time = async (name: string, fn: () => Promise<any>) => {
    let best = 1e9, r: any;
    const all = [];
    for (let i = 0; i < 15; i++) { const s = performance.now(); r = await fn(); all.push(performance.now() - s); }
    all.sort((a, b) => a - b);
    out.push(`${name}: p50 ${all[7]?.toFixed(1)} max ${all[14]?.toFixed(1)} total=${r.page?.total} est=${r.page?.totalIsEstimate}`);
    return r;
  };
  const people: [string, any][] = [["org", callers.orgAdmin(p.id, org)], ["partner", callers.partnerAdmin(p.id)], ["list", callers.partnerWithList(p.id, [org])], ["system", callers.platformAdmin()]];
  for (const [name, who] of people) {
    const s = t.sites(who);
    const first = await time(`${name} sites first`, () => s.listSites({ page: { limit: 50 } }));
    await time(`${name} sites skip`, () => s.listSites({ page: { limit: 50, skipCount: true } }));
    await time(`${name} sites cursor`, () => s.listSites({ page: { limit: 50, skipCount: true, cursor: first.page.nextCursor } }));
    await time(`${name} sites org`, () => s.listSites({ orgId: org, page: { limit: 50 } }));
    await time(`${name} sites p10000`, () => s.listSites({ page: { limit: 50, page: 10000, skipCount: true } }));
    if (name === "org") continue;
    const o = t.organizations(who);
    const f2 = await time(`${name} orgs first`, () => o.listOrganizations({ page: { limit: 50 } }));
    await time(`${name} orgs skip`, () => o.listOrganizations({ page: { limit: 50, skipCount: true } }));
    if (f2.page.nextCursor) await time(`${name} orgs cursor`, () => o.listOrganizations({ page: { limit: 50, skipCount: true, cursor: f2.page.nextCursor } }));
    await time(`${name} orgs p10000`, () => o.listOrganizations({ page: { limit: 50, page: 10000, skipCount: true } }));
  }
  console.log(out.join("\n"));
  const who = { caller: callers.orgAdmin(p.id, org) };
  const plan = await t.database.db.read<any>(who, sql`EXPLAIN (ANALYZE, BUFFERS) SELECT count(*) AS n FROM (SELECT FROM sites WHERE org_id = ${org}::uuid AND org_id = ${org}::uuid LIMIT 50001) AS counted`);
  console.log(plan.map((r: any) => r["QUERY PLAN"]).join("\n"));
  const plan2 = await t.database.db.read<any>(who, sql`EXPLAIN (ANALYZE, BUFFERS) SELECT id FROM sites WHERE org_id = ${org}::uuid AND (name, id) > (${"Site 5"}::varchar, ${org}::uuid) ORDER BY name, id LIMIT 51`);
  console.log(plan2.map((r: any) => r["QUERY PLAN"]).join("\n"));
  const h = performance.now();
  const hash = await t.snapshots(callers.service("gateway")).getSnapshotHash({});
  console.log("hash", performance.now() - h, hash.count);
  await t.stop();
}, 600_000);
