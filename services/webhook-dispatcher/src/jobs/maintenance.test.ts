import { describe, expect, it } from "@jest/globals";
import { createLogger, uuidv7 } from "@muster/kit";
import { asOwner, callers, until } from "@muster/testing";
import { eventMessage } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { keepDays, purgeDeleted } from "./maintenance.ts";

const { dispatcher, receiver } = ownDispatcher();

const log = createLogger("maintenance-test", "fatal");
const deps = (retentionDays = 30) => ({ db: dispatcher.database.db, log, retentionDays });
const days = async () =>
  (
    await dispatcher.rows<{ day: string }>(
      "SELECT right(c.relname, 8) AS day FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'webhook_deliveries'::regclass ORDER BY 1",
    )
  ).map(({ day }) => day);
const day = (ahead: number) => new Date(Date.now() + ahead * 86_400_000).toISOString().slice(0, 10).replaceAll("-", "");

describe("a deleted webhook", () => {
  it("is hidden at once; its 100,000 deliveries are removed in steps while those of others are sent", async () => {
    const { admin, orgId, partnerId } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, receiver);
    await asOwner(dispatcher.database, async (owner) => {
      await owner.query(
        `INSERT INTO webhook_deliveries (id, created_at, webhook_id, org_id, partner_id, event_id, event, status)
         SELECT gen_random_uuid(), now() - n * interval '1 second', $1, $2, $3, gen_random_uuid(), 'device.online', 'delivered'
         FROM generate_series(1, 100000) n`,
        [webhook.id, orgId, partnerId],
      );
    });
    const other = await dispatcher.organization();
    const active = await dispatcher.webhook(other.admin, receiver);
    const startedMs = performance.now();
    await dispatcher.webhooks(admin).deleteWebhook({ id: webhook.id });
    expect(performance.now() - startedMs).toBeLessThan(2_000);
    let done = false;
    const purging = purgeDeleted(deps()).then(() => {
      done = true;
    });
    const sender = dispatcher.sender();
    const tookMs: number[] = [];
    let sent = 0;
    while (!done && sent < 200) {
      const before = performance.now();
      const id = uuidv7();
      await dispatcher.match([eventMessage(other.orgId, { id })]);
      await until("a delivery meanwhile", () => receiver.of(id).length > 0);
      tookMs.push(performance.now() - before);
      sent += 1;
    }
    await purging;
    await sender.stop();
    const left = await dispatcher.rows("SELECT FROM webhook_deliveries WHERE webhook_id = $1 LIMIT 1", [webhook.id]);
    const medianMs = tookMs.toSorted((a, b) => a - b)[Math.floor(sent / 2)];
    expect(left).toHaveLength(0);
    expect(medianMs).toBeLessThan(2_000);
    expect(await dispatcher.deliveriesOf(active.id)).toHaveLength(sent);
  }, 120_000);

  it("is removed whole a minute later", async () => {
    const { admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, receiver);
    await dispatcher.webhooks(admin).deleteWebhook({ id: webhook.id });
    await purgeDeleted(deps());
    const rows = () => dispatcher.rows("SELECT FROM webhooks WHERE id = $1", [webhook.id]);
    expect(await rows()).toHaveLength(1);
    await asOwner(dispatcher.database, async (owner) => {
      await owner.query("UPDATE webhooks SET deleted_at = now() - interval '2 minutes' WHERE id = $1", [webhook.id]);
    });
    await purgeDeleted(deps());
    expect(await rows()).toHaveLength(0);
  });

  it("is removed in the same pass as all others that were deleted", async () => {
    const { admin, orgId } = await dispatcher.organization();
    for (let n = 0; n < 3; n++) await dispatcher.webhook(admin, receiver);
    await dispatcher.match([eventMessage(orgId)]);
    await dispatcher.change("UPDATE webhooks SET deleted_at = now() - interval '2 minutes' WHERE org_id = $1", [orgId]);
    await purgeDeleted(deps());
    for (const table of ["webhooks", "webhook_deliveries", "webhook_queue"]) {
      expect(await dispatcher.rows(`SELECT FROM ${table} WHERE org_id = $1`, [orgId])).toHaveLength(0);
    }
  });
});

describe("days", () => {
  it("are made a week ahead and dropped after their retention, with row-level security on each", async () => {
    await asOwner(dispatcher.database, async (owner) => {
      await owner.query(`DROP TABLE webhook_deliveries_${(await days()).at(-1)}`);
      await owner.query(
        "SELECT ensure_webhook_days((now() AT TIME ZONE 'UTC')::date - 40, (now() AT TIME ZONE 'UTC')::date - 38)",
      );
    });
    expect((await days())[0]).toBe(day(-40));
    await keepDays(deps(30));
    expect([(await days())[0], (await days()).at(-1)]).toEqual([day(-8), day(7)]);
    await keepDays(deps(3));
    expect((await days())[0]).toBe(day(-3));
    const open = await dispatcher.rows(
      `SELECT FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
       AND c.relname <> 'schema_migrations' AND (NOT c.relrowsecurity OR NOT EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid))`,
    );
    expect(open).toEqual([]);
  });

  it("are created again for the past week, unless they are older than the retention", async () => {
    await keepDays(deps(3));
    await keepDays(deps(3));
    expect((await days())[0]).toBe(day(-3));
    await keepDays(deps(30));
    expect((await days())[0]).toBe(day(-7));
  });

  it("leave room in each page of deliveries for later outcomes", async () => {
    const filled = await dispatcher.rows<{ fillfactor: string }>(
      `SELECT DISTINCT option_value AS fillfactor FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
       CROSS JOIN pg_options_to_table(c.reloptions)
       WHERE i.inhparent = 'webhook_deliveries'::regclass AND option_name = 'fillfactor'`,
    );
    expect(filled).toEqual([{ fillfactor: "33" }]);
  });

  it("cannot be created without limit, nor dropped for the current day, by any caller", async () => {
    for (const call of [
      "SELECT ensure_webhook_days('1000-01-01', '2999-01-01')",
      "SELECT ensure_webhook_days(now()::date, now()::date + 400)",
      "SELECT drop_webhook_days(now()::date + 2, 100)",
    ]) {
      const dropped = dispatcher.database.db.tx({ caller: callers.service("webhook-dispatcher") }, (tx) =>
        tx.query({ text: call, values: [] }),
      );
      await expect(dropped).rejects.toThrow(/too many or too far|today is kept/);
    }
  });
});
