import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Caller, uuidv7 } from "@muster/kit";
import { asOwner, callers, contextOf, explained } from "@muster/testing";
import { startDispatcher, type TestDispatcher } from "../testing/dispatcher.ts";
import { failingWebhooks } from "./failing-webhooks.ts";

const webhooks = 10_000;
const partnerIds = Array.from({ length: 20 }, () => uuidv7());
const orgIds = Array.from({ length: 200 }, () => uuidv7());

let dispatcher: TestDispatcher;
beforeAll(async () => {
  dispatcher = await startDispatcher();
  await asOwner(dispatcher.database, async (owner) => {
    await owner.query(
      `WITH made AS (
         INSERT INTO webhooks (id, org_id, partner_id, name, url_sealed, url_shown, headers_sealed, events, status, created_by,
                               created_at, updated_at)
         SELECT gen_random_uuid(), ($1::uuid[])[1 + n % 200], ($2::uuid[])[1 + n % 20], 'Hook ' || n, '', 'https://a.test/', '',
                '{*}', CASE WHEN n % 1000 = 0 THEN 'error' WHEN n % 1000 = 1 THEN 'disabled' ELSE 'active' END, 'ada',
                now() - n * interval '1 second', now()
         FROM generate_series(1, $3::int) n RETURNING id, org_id, partner_id, name, status)
       INSERT INTO webhook_endpoint_state (webhook_id, org_id, partner_id, failed_attempts, failing_since, open_seconds)
       SELECT id, org_id, partner_id, CASE WHEN fails THEN 9 ELSE 0 END, CASE WHEN fails THEN now() END,
              CASE WHEN n % 1000 = 3 THEN 30 ELSE 0 END
       FROM (SELECT *, n % 1000 IN (1, 2) AS fails FROM (SELECT *, substr(name, 6)::int AS n FROM made) m) f`,
      [orgIds, partnerIds, webhooks],
    );
    await owner.query("ANALYZE webhooks, webhook_endpoint_state");
  });
}, 60_000);
afterAll(() => dispatcher?.stop());

/** Each thousandth is marked failed, the second after it fails, and the third after it recovers from its breaker. */
const [partnerId, orgId] = [partnerIds[2] ?? "", orgIds[2] ?? ""];
const permissions = ["webhooks:read"];
const scopes: Record<string, [caller: Caller, of: string | null, found: number]> = {
  "the platform": [callers.platformAdmin({ permissions }), null, 30],
  "the platform, of one organization": [callers.platformAdmin({ permissions }), orgId, 10],
  "a partner": [callers.partnerAdmin(partnerId, { permissions }), null, 10],
  "some organizations of a partner": [callers.partnerWithList(partnerId, [orgId], { permissions }), null, 10],
  "an organization": [callers.orgAdmin(partnerId, orgId, { permissions }), null, 10],
  "another organization": [callers.orgAdmin(partnerId, uuidv7(), { permissions }), null, 0],
};

describe("failing webhooks among many", () => {
  it.each(Object.keys(scopes))("are found by indexes, for %s", async (name) => {
    const [caller, of, count] = scopes[name] as (typeof scopes)[string];
    const { db, scans } = explained(dispatcher.database.db);
    const context = contextOf(caller);
    const filter = { orgId: of, failingAttempts: 5 };
    const found = await db.inOneBatch(context, (tx) => failingWebhooks(tx, context, filter, 101));
    expect(found.map(({ name: hook }) => Number(hook.slice(5)) % 1_000)).toEqual(
      expect.not.arrayContaining([1, 4, 999]),
    );
    expect(found).toHaveLength(count);
    expect(scans.map(({ table }) => table)).toEqual(expect.arrayContaining(["webhooks", "webhook_endpoint_state"]));
    expect(scans.filter(({ by }) => by === "Seq Scan")).toEqual([]);
  });
});
