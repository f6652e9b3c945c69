import { describe, expect, it } from "@jest/globals";
import type { Database } from "@muster/db";
import { createLogger, uuidv7 } from "@muster/kit";
import { until } from "@muster/testing";
import { eventMessage, eventMessages } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { startBacklog } from "./backlog.ts";

const log = createLogger("backlog-test", "fatal");
const everything = { settled: Number.MAX_SAFE_INTEGER, delivered: Number.MAX_SAFE_INTEGER };

const { dispatcher, receiver } = ownDispatcher();

async function burst(count: number) {
  const { orgId, admin } = await dispatcher.organization();
  const webhook = await dispatcher.webhook(admin, receiver);
  await dispatcher.matchBatch(eventMessages(orgId, count));
  return { orgId, webhook, queued: () => dispatcher.queuedOf(webhook.id) };
}

/** The database, and how long each of its transactions took. */
function timed(db: Database): { db: Database; tookMs: number[] } {
  const tookMs: number[] = [];
  const tx: Database["tx"] = async (who, run, options) => {
    const startedMs = performance.now();
    const result = await db.tx(who, run, options);
    tookMs.push(performance.now() - startedMs);
    return result;
  };
  return { db: { ...db, tx }, tookMs };
}

describe("the backlog", () => {
  it("is not overtaken by a later event of its organization", async () => {
    const { orgId, webhook, queued } = await burst(60);
    const late = eventMessage(orgId);
    await dispatcher.matchBatch([late]);
    expect(await queued()).toBe(50);
    while ((await dispatcher.processBacklog()).taken > 0);
    const rows = await dispatcher.rows<{ event_id: string }>(
      "SELECT event_id FROM webhook_queue WHERE webhook_id = $1 ORDER BY due_at DESC LIMIT 1",
      [webhook.id],
    );
    expect([await queued(), rows[0]?.event_id]).toEqual([61, late.msgId.split("/")[1]]);
  });

  it("gets the events beyond 250 deliveries of one organization, and returns them in rounds of so many", async () => {
    const { orgId, admin } = await dispatcher.organization();
    for (let n = 0; n < 20; n++) await dispatcher.webhook(admin, receiver);
    const other = await dispatcher.organization();
    const hook = await dispatcher.webhook(other.admin, receiver);
    const batch = [...eventMessages(orgId, 50), ...eventMessages(other.orgId, 50)];
    // The 13th event takes it beyond them.
    expect(await dispatcher.matchBatch(batch)).toEqual({ matched: 13 + 50, queued: 13 * 20 + 50, backlogged: 37 });
    expect(await dispatcher.queuedOf(hook.id)).toBe(50);
    const rounds = [];
    for (let taken = 1; taken > 0; rounds.push(taken)) taken = (await dispatcher.processBacklog()).taken;
    expect(rounds).toEqual([12, 12, 12, 1, 0]);
  });

  it("gets the events beyond 5,000 deliveries of one partner, and none of another's", async () => {
    const partnerId = uuidv7();
    const batch = [];
    for (let n = 0; n < 26; n++) {
      const { orgId, admin } = await dispatcher.organization(partnerId);
      const { id } = await dispatcher.webhook(admin, receiver);
      await dispatcher.change(
        `INSERT INTO webhooks (id, org_id, partner_id, name, url_sealed, url_shown, headers_sealed, events, created_by,
                               created_at, updated_at)
         SELECT gen_random_uuid(), org_id, partner_id, name, url_sealed, url_shown, headers_sealed, events, created_by,
                created_at, updated_at
         FROM webhooks, generate_series(1, 99) WHERE id = $1`,
        [id],
      );
      batch.push(...eventMessages(orgId, 2));
    }
    await dispatcher.change(
      `INSERT INTO webhook_endpoint_state (webhook_id, org_id, partner_id)
       SELECT id, org_id, partner_id FROM webhooks WHERE partner_id = $1 ON CONFLICT DO NOTHING`,
      [partnerId],
    );
    const other = await dispatcher.organization();
    await dispatcher.webhook(other.admin, receiver);
    batch.push(...eventMessages(other.orgId, 2));
    expect(await dispatcher.matchBatch(batch)).toEqual({ matched: 25 * 2 + 2, queued: 25 * 200 + 2, backlogged: 2 });
    while ((await dispatcher.processBacklog()).taken > 0);
  }, 30_000);

  it("is processed a fifth of the time while other organizations' events arrive, at most 100 in a round, and completely in the end", async () => {
    const { queued } = await burst(1_050);
    const { db, tookMs } = timed(dispatcher.database.db);
    const backlog = startBacklog({ db, log, batchEvents: 500, wake: () => undefined }, async () => everything);
    backlog.yield();
    const others = setInterval(backlog.yield, 20);
    const startedMs = performance.now();
    await until("everything", async () => (await queued()) === 1_050, 60_000);
    const share = tookMs.reduce((sum, ms) => sum + ms, 0) / (performance.now() - startedMs);
    clearInterval(others);
    await backlog.stop();
    expect(tookMs.length).toBeGreaterThanOrEqual(10);
    expect(share).toBeLessThan(0.35);
  }, 90_000);

  it("is processed without a pause when no other organization has one, and while NATS does not report the acknowledgement floor", async () => {
    const { queued } = await burst(1_050);
    const { db, tookMs } = timed(dispatcher.database.db);
    const backlog = startBacklog({ db, log, batchEvents: 500, wake: () => undefined }, async () => {
      throw new Error("away");
    });
    await until("everything", async () => (await queued()) === 1_050, 60_000);
    await backlog.stop();
    expect(tookMs.length).toBeLessThan(10);
  }, 90_000);
});
