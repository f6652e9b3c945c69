import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { callers } from "@muster/testing";
import { startTestIdentity, type TestIdentity } from "../testing/identity.ts";
import { mostFound } from "./user-search.ts";

const held = { permissions: ["users:read"] };
const crowd = mostFound + 500;
let identity: TestIdentity;
let partnerId: string;
let orgId: string;
let other: string;
beforeAll(async () => {
  identity = await startTestIdentity();
  partnerId = await identity.addPartner();
  [orgId, other] = [await identity.addOrganization(partnerId), await identity.addOrganization(partnerId)];
  // Everybody is a Smith, every hundredth a Grace, the oldest ten a Rare.
  await identity.db.tx(identity.system, (tx) =>
    tx.execute(sql`
      INSERT INTO users (id, email, name, scope, partner_id, org_id, role_id, status, created_at, updated_at)
      SELECT gen_random_uuid(), 'p' || n || '@many.example',
             CASE WHEN n <= 10 THEN 'Rare ' ELSE '' END || CASE WHEN n % 100 = 0 THEN 'Grace ' ELSE 'Ann' || n END || ' Smith',
             'organization', ${partnerId}, ${orgId}, ${identity.roleId("org-viewer")}, 'active',
             now() - interval '1 day' + n * interval '1 second', now()
      FROM generate_series(1, ${crowd}::int) AS n`),
  );
});
afterAll(() => identity?.close());

const search = async (query: string, page: object = {}, caller = callers.orgAdmin(partnerId, orgId, held)) => {
  const { users, page: info } = await identity.usersAs(caller).listUsers({ query, page: { limit: 50, ...page } });
  return {
    names: users.map(({ name }) => name),
    total: info?.total,
    cursor: info?.nextCursor ?? "",
    isEstimate: info?.totalIsEstimate,
  };
};

describe("a search for users", () => {
  it("with few matches counts them, newest first", async () => {
    const { names, total, isEstimate } = await search("rare");
    expect(names).toHaveLength(10);
    expect(names[0]).toBe("Rare Ann10 Smith");
    expect([total, isEstimate]).toEqual([10n, false]);
    expect((await search("smith gra", { limit: 100 })).total).toBe(BigInt(crowd / 100));
  });

  it("with many matches walks the list and returns a lower bound of the total", async () => {
    const first = await search("smith", { limit: 100 });
    expect([first.total, first.isEstimate, first.names.length]).toEqual([BigInt(mostFound), true, 100]);
    const second = await search("smith", { limit: 100, cursor: first.cursor });
    expect(new Set([...first.names, ...second.names]).size).toBe(200 - 2 + 1);
    expect((await search("smith many example", { limit: 2, skipCount: true })).total).toBeUndefined();
    expect((await search("smith p2", { limit: 1 })).names).toHaveLength(1);
  });

  it("finds only visible users, for every caller", async () => {
    const nobody = [
      callers.orgAdmin(partnerId, other, held),
      callers.partnerWithList(partnerId, [other], held),
      callers.partnerAdmin(await identity.addPartner(), held),
    ];
    for (const caller of nobody) {
      expect([(await search("rare", {}, caller)).total, (await search("smith", {}, caller)).total]).toEqual([0n, 0n]);
    }
    expect((await search("rare", {}, callers.partnerAdmin(partnerId, held))).total).toBe(10n);
    expect((await search("rare", {}, callers.platformAdmin(held))).total).toBe(10n);
  });

  it("uses the words' index under row-level security", async () => {
    const plan = await identity.db.tx({ caller: callers.orgAdmin(partnerId, orgId, held) }, async (tx) => {
      await tx.execute(sql`SELECT set_config('enable_seqscan', 'off', true)`);
      return tx.query<{ "QUERY PLAN": string }>(
        sql`EXPLAIN SELECT user_id FROM user_words w WHERE w.org_id = ${orgId} AND w.word >= lower(${"rare"}) AND w.word < lower(${"rare"}) || ${"\u{10ffff}"}`,
      );
    });
    const text = plan.map((row) => row["QUERY PLAN"]).join("\n");
    expect(text).toMatch(/Index Cond: .*word >= /);
  });
});
