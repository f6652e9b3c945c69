import { beforeAll, describe, expect, it } from "@jest/globals";
import { sql, type Tx } from "@muster/db";
import { uuidv7 } from "@muster/kit";
import { asOwner } from "@muster/testing";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { claimDue, nextDueMs } from "./queue.ts";
import { findThrottled, queueAge } from "./throttled.ts";

const { dispatcher } = ownDispatcher();
const concurrency = { webhookConcurrency: 8, organizationConcurrency: 64, hostConcurrency: 256 };
const partners = { rooms: new Map(), otherRoom: 256 };
const claim = () => claimDue(dispatcher.database.db, { ...concurrency, most: 256, leaseMs: 45_000, partners });

/** Queues a delivery of each of the 10,000 webhooks, or of the first `most`. */
const queue = (dueIn: string, isRetry: boolean, most = 10_000) =>
  dispatcher.change(
    `INSERT INTO webhook_queue (delivery_id, created_at, webhook_id, org_id, partner_id, event_id, due_at, is_retry, attempt)
     SELECT gen_random_uuid(), now(), id, org_id, partner_id, gen_random_uuid(), now() + $1::interval, $2::boolean, $2::boolean::int
     FROM (SELECT * FROM webhooks ORDER BY id LIMIT $3) AS w`,
    [dueIn, isRetry, most],
  );

/** Lookups and scans in the tables of webhooks so far, by this connection. */
const lookups = async (tx: Tx) => {
  const rows = await tx.query<{ n: number }>(sql`
    SELECT sum(coalesce(idx_scan, 0) + seq_scan)::int AS n FROM pg_stat_xact_user_tables WHERE relname LIKE 'webhook%'`);
  return rows[0]?.n ?? 0;
};

describe("the queue of a partner with 10,000 webhooks", () => {
  beforeAll(async () => {
    // Statistics of a time without webhooks: of the plan nothing may depend on them.
    await asOwner(dispatcher.database, (owner) => owner.query("ANALYZE"));
    await dispatcher.change(
      `INSERT INTO webhooks (id, org_id, partner_id, name, url_sealed, url_shown, headers_sealed, events, created_by,
                             created_at, updated_at)
       SELECT gen_random_uuid(), md5((n / 100)::text)::uuid, $1, 'Hook', '', 'https://' || n % 50 || '.example.test', '',
              '{*}', 'test', now(), now()
       FROM generate_series(1, 10000) AS n`,
      [uuidv7()],
    );
    await dispatcher.change(
      "INSERT INTO webhook_endpoint_state (webhook_id, org_id, partner_id) SELECT id, org_id, partner_id FROM webhooks",
    );
  });

  it("is claimed from, and checked, without a lookup for webhooks with later retries", async () => {
    await dispatcher.change("DELETE FROM webhook_queue");
    await queue("1 hour", true);
    await queue("-61 s", false, 3);
    await queue("-1 s", true, 2);
    await dispatcher.maintenance(async (tx) => {
      const before = await lookups(tx);
      expect(await findThrottled(tx, { ...concurrency, overdueMaxMs: 60_000 })).toHaveLength(3);
      expect((await queueAge(tx, concurrency)).oldestDueSeconds).toBeGreaterThan(60);
      expect(await nextDueMs(tx, 1_000)).toBe(0);
      expect((await lookups(tx)) - before).toBeLessThan(300);
    });
    expect((await claim()).leases).toHaveLength(5);
    expect((await claim()).leases).toEqual([]);
    // What is claimed is due again when its lease of 45 s ends.
    expect(await dispatcher.maintenance((tx) => nextDueMs(tx, 60_000))).toBeGreaterThan(30_000);
  }, 60_000);

  it("says when the next retry is due", async () => {
    await dispatcher.change("DELETE FROM webhook_queue");
    await queue("1 hour", true);
    await queue("20 s", true, 1);
    const ms = await dispatcher.maintenance((tx) => nextDueMs(tx, 60_000));
    expect(ms).toBeGreaterThan(10_000);
    expect(ms).toBeLessThanOrEqual(20_000);
    expect(await dispatcher.maintenance((tx) => nextDueMs(tx, 1_000))).toBe(1_000);
  });

  it("is claimed from past open breakers, however many of their retries are due", async () => {
    await dispatcher.change("DELETE FROM webhook_queue");
    await queue("-2 s", true);
    await queue("-1 s", false);
    await dispatcher.change("UPDATE webhook_endpoint_state SET open_until = now() + interval '30 s'");
    await dispatcher.change(
      "UPDATE webhook_endpoint_state SET open_until = NULL WHERE webhook_id IN (SELECT id FROM webhooks ORDER BY id LIMIT 4)",
    );
    const { leases } = await claim();
    expect(leases).toHaveLength(8);
    await dispatcher.maintenance(async (tx) => {
      const ms = await nextDueMs(tx, 60_000);
      expect(ms).toBeGreaterThan(10_000);
      expect(ms).toBeLessThanOrEqual(30_000);
      expect(await findThrottled(tx, { ...concurrency, overdueMaxMs: 0 })).toEqual([]);
    });
    await dispatcher.change("UPDATE webhook_endpoint_state SET open_until = NULL");
    expect((await claim()).leases).toHaveLength(256);
  }, 60_000);

  it("is claimed from, and checked, by one key lookup for each webhook", async () => {
    await dispatcher.change("DELETE FROM webhook_queue");
    await queue("-1 s", false);
    await queue("-1 s", false);
    expect((await claim()).leases).toHaveLength(256);
    // The planner compared each webhook with each here: 8 s and more, which ends the statement.
    expect(await dispatcher.maintenance((tx) => nextDueMs(tx, 1_000))).toBe(0);
    expect(await dispatcher.maintenance((tx) => findThrottled(tx, { ...concurrency, overdueMaxMs: 60_000 }))).toEqual(
      [],
    );
  }, 60_000);
});
