import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import type { Database } from "@muster/db";
import { type Caller, createLogger, uuidv7 } from "@muster/kit";
import { callers, outcome, until } from "@muster/testing";
import { advanceReplay } from "../store/replays.ts";
import { eventMessage } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { startReplayer } from "./replayer.ts";

const { dispatcher, receiver } = ownDispatcher();

const since = timestampFromDate(new Date(Date.now() - 3_600_000));

/** A webhook with finished deliveries: `failed` failed ones, then `delivered` others. */
async function history(failed: number, delivered: number) {
  const organization = await dispatcher.organization();
  const { orgId, admin } = organization;
  const webhook = await dispatcher.webhook(admin, receiver);
  const ids = Array.from({ length: failed + delivered }, () => uuidv7());
  await dispatcher.match(
    ids.map((id) => eventMessage(orgId, { id, type: "alert.triggered", emitter: "webhook-dispatcher" })),
  );
  const finish = (status: string, of: string[]) =>
    dispatcher.change(
      `WITH gone AS (DELETE FROM webhook_queue WHERE event_id = ANY ($2::uuid[]))
       UPDATE webhook_deliveries SET status = $1 WHERE event_id = ANY ($2::uuid[])`,
      [status, of],
    );
  await finish("failed", ids.slice(0, failed));
  await finish("delivered", ids.slice(failed));
  return { ...organization, webhook, ids };
}

const stateOf = async (admin: Caller, webhookId: string, id: string) =>
  (await dispatcher.replays(admin).getReplay({ webhookId, id })).replay;

describe("a replay", () => {
  it("queues each failed event once, with its own id and payload, and reports the outcomes", async () => {
    const { admin, webhook, ids } = await history(12, 3);
    const { replay } = await dispatcher.replays(admin).startReplay({ webhookId: webhook.id, since });
    expect(replay).toMatchObject({ state: "queued", status: "failed", queued: 0n });
    const replayer = dispatcher.replayer();
    const sender = dispatcher.sender();
    const id = replay?.id ?? "";
    await until("the replay to end", async () => (await stateOf(admin, webhook.id, id))?.state === "done", 30_000);
    await sender.stop();
    await replayer.stop();
    expect(await stateOf(admin, webhook.id, id)).toMatchObject({
      queued: 12n,
      skipped: 0n,
      outcomes: { pending: 0n, retrying: 0n, delivered: 12n, failed: 0n },
    });
    const events = receiver.received.map(({ headers }) => headers["x-service-event-id"]);
    expect(events.filter((event) => ids.includes(String(event))).sort()).toEqual(ids.slice(0, 12).sort());
    const replayed = (await dispatcher.deliveriesOf(webhook.id)).filter(({ origin }) => origin === "replay");
    expect(new Set(replayed.map(({ retry_of: of }) => of)).size).toBe(12);
    const [audit] = await dispatcher.rows<{ n: number }>(
      "SELECT count(*)::int AS n FROM outbox WHERE subject LIKE 'audit.%' AND encode(body, 'escape') LIKE '%webhook.replay%'",
    );
    expect(audit?.n).toBeGreaterThan(0);
  }, 60_000);

  it("selects deliveries by state, by type and by time", async () => {
    const { admin, webhook } = await history(2, 3);
    const replays = dispatcher.replays(admin);
    const start = async (change: object) =>
      (await replays.startReplay({ webhookId: webhook.id, since, ...change })).replay?.id ?? "";
    const started = [
      await start({ status: "delivered" }),
      await start({ status: "all", events: ["device.online"] }),
      await start({ status: "all", until: timestampFromDate(new Date(Date.now() - 1_800_000)) }),
      await start({ status: "all" }),
    ];
    const replayer = dispatcher.replayer();
    const sender = dispatcher.sender();
    const all = async () => Promise.all(started.map((id) => stateOf(admin, webhook.id, id)));
    await until("all replays to end", async () => (await all()).every((each) => each?.state === "done"), 30_000);
    await sender.stop();
    await replayer.stop();
    expect((await all()).map((each) => Number(each?.queued))).toEqual([3, 0, 0, 5]);
  }, 60_000);

  it("is limited to its window, so that live deliveries overtake it", async () => {
    const { admin, webhook, orgId } = await history(40, 0);
    const slow = dispatcher.receivers[1];
    const held: (() => void)[] = [];
    slow.answer((request, response) => {
      if (request.headers["x-service-event-type"] === "alert.triggered") held.push(() => response.end());
      else response.end();
    });
    await dispatcher.reseal(webhook.id, dispatcher.urlOf(slow));
    await dispatcher.replays(admin).startReplay({ webhookId: webhook.id, since });
    const replayer = dispatcher.replayer({ window: 4 });
    const sender = dispatcher.sender();
    await until("the window to be full", () => held.length === 4);
    const live = uuidv7();
    await dispatcher.match([eventMessage(orgId, { id: live })]);
    await until("the live one", () => slow.of(live).length > 0);
    const [waiting] = await dispatcher.rows<{ n: number }>(
      "SELECT count(*)::int AS n FROM webhook_queue WHERE webhook_id = $1 AND replay_id IS NOT NULL",
      [webhook.id],
    );
    expect([waiting?.n, held.length]).toEqual([4, 4]);
    await replayer.stop();
    for (const answer of held) answer();
    await sender.stop();
  }, 60_000);

  it("continues where it was when its process is killed midway, and repeats nothing", async () => {
    const { admin, webhook } = await history(9, 0);
    const { replay } = await dispatcher.replays(admin).startReplay({ webhookId: webhook.id, since });
    let left = 3;
    const { db } = dispatcher.database;
    const dying: Database = {
      ...db,
      tx: (who, fn, options) =>
        db.tx(
          who,
          async (tx) => {
            const result = await fn(tx);
            // Before its COMMIT, from the second chunk on.
            left -= 1;
            if (left <= 0) throw new Error("killed");
            return result;
          },
          options,
        ),
    };
    const log = createLogger("replayer-test", "fatal");
    const first = startReplayer({ db: dying, log, limits: { window: 2, chunk: 3, everyMs: 5 }, wake: () => undefined });
    const sender = dispatcher.sender();
    await until("the first process to die", () => left <= 0);
    await first.stop();
    const second = dispatcher.replayer({ window: 2, chunk: 3 });
    const id = replay?.id ?? "";
    await until("the replay to end", async () => (await stateOf(admin, webhook.id, id))?.state === "done", 30_000);
    await sender.stop();
    await second.stop();
    const replayed = (await dispatcher.deliveriesOf(webhook.id)).filter(({ origin }) => origin === "replay");
    expect([replayed.length, new Set(replayed.map((each) => each.event_id)).size]).toEqual([9, 9]);
    expect(await stateOf(admin, webhook.id, id)).toMatchObject({ queued: 9n, skipped: 0n });
  }, 60_000);

  it("queues nothing more when it is cancelled, and its queued deliveries are not sent", async () => {
    const { admin, webhook } = await history(20, 0);
    const { replay } = await dispatcher.replays(admin).startReplay({ webhookId: webhook.id, since });
    const replayer = dispatcher.replayer();
    const id = replay?.id ?? "";
    await until("the window to be full", async () => (await stateOf(admin, webhook.id, id))?.queued === 4n);
    await dispatcher.replays(admin).cancelReplay({ webhookId: webhook.id, id });
    await replayer.stop();
    expect(await stateOf(admin, webhook.id, id)).toMatchObject({
      state: "cancelled",
      queued: 4n,
      outcomes: { pending: 0n, failed: 4n },
    });
    const { page } = await dispatcher.deliveries(admin).listDeliveries({ webhookId: webhook.id, status: "failed" });
    expect(page?.total).toBe(4n);
    expect(await dispatcher.queuedOf(webhook.id)).toBe(0);
    expect(await outcome(dispatcher.replays(admin).cancelReplay({ webhookId: webhook.id, id }))).toBe("ok");
  });

  it("is served round-robin with those of other partners, then of other organizations, however many each has", async () => {
    await dispatcher.change("DELETE FROM webhook_replays");
    const busy = await dispatcher.organization();
    const sister = await dispatcher.organization(busy.partnerId);
    const other = await dispatcher.organization();
    for (const { admin, orgId, partnerId } of [busy, busy, busy, sister, other]) {
      const { id: webhookId } = await dispatcher.webhook(admin, receiver);
      const { replay } = await dispatcher.replays(admin).startReplay({ webhookId, since });
      // One delivery that waits: the window is full, and the replay stays open.
      await dispatcher.change(
        `INSERT INTO webhook_queue (delivery_id, created_at, webhook_id, org_id, partner_id, event_id, replay_id, due_at)
         VALUES (gen_random_uuid(), now(), $1, $2, $3, gen_random_uuid(), $4, now() + interval '1 hour')`,
        [webhookId, orgId, partnerId, replay?.id],
      );
    }
    const names = new Map([
      [busy.orgId, "busy"],
      [sister.orgId, "sister"],
      [other.orgId, "other"],
    ]);
    const worked: { org: string | undefined; webhook: string | undefined }[] = [];
    for (let n = 0; n < 8; n++) {
      const step = await dispatcher.maintenance((tx) => advanceReplay(tx, { window: 1, chunk: 10, everyMs: 0 }));
      worked.push({ org: names.get(step?.replay.org_id ?? ""), webhook: step?.replay.webhook_id });
    }
    const roundRobin = ["busy", "other", "sister", "other", "busy", "other", "sister", "other"];
    expect(worked.map(({ org }) => org)).toEqual(roundRobin);
    expect(new Set(worked.map(({ webhook }) => webhook)).size).toBe(4);
  });

  it("delays no other when it cannot continue", async () => {
    const bad = await history(2, 0);
    const { replay } = await dispatcher.replays(bad.admin).startReplay({ webhookId: bad.webhook.id, since });
    // Its own day has no tables any more.
    await dispatcher.change("UPDATE webhook_replays SET created_at = now() - interval '20 days' WHERE id = $1", [
      replay?.id,
    ]);
    const good = await history(2, 0);
    const { replay: other } = await dispatcher.replays(good.admin).startReplay({ webhookId: good.webhook.id, since });
    const replayer = dispatcher.replayer();
    const sender = dispatcher.sender();
    const ended = async () => (await stateOf(good.admin, good.webhook.id, other?.id ?? ""))?.state === "done";
    await until("the other replay to end", ended, 30_000);
    await sender.stop();
    await replayer.stop();
    expect(await stateOf(bad.admin, bad.webhook.id, replay?.id ?? "")).toMatchObject({ state: "queued", queued: 0n });
  }, 60_000);

  it("is refused without a time, with unknown types, to other tenants, and when five are open", async () => {
    const { admin, webhook, partnerId } = await history(1, 0);
    const other = await dispatcher.organization(partnerId);
    const request = { webhookId: webhook.id, since };
    const of = (caller: Caller) => dispatcher.replays(caller);
    const future = timestampFromDate(new Date(Date.now() + 60_000));
    const reader = callers.orgAdmin(partnerId, webhook.orgId, { permissions: ["webhooks:read"] });
    const sited = callers.orgAdmin(partnerId, webhook.orgId, { permissions: ["webhooks:write"], siteIds: [uuidv7()] });
    expect(await outcome(of(admin).startReplay({ webhookId: webhook.id }))).toBe("validation_failed since");
    expect(await outcome(of(admin).startReplay({ ...request, since: future }))).toBe("validation_failed since");
    expect(await outcome(of(admin).startReplay({ ...request, status: "pending" }))).toBe(
      "validation_failed deliveryStatus",
    );
    expect(await outcome(of(admin).startReplay({ ...request, events: ["webhook.test"] }))).toBe("unknown_event_type");
    expect(await outcome(of(other.admin).startReplay(request))).toBe("webhook_not_found");
    expect(await outcome(of(reader).startReplay(request))).toBe("permission_denied");
    expect(await outcome(of(sited).startReplay(request))).toBe("site_restricted");
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push((await of(admin).startReplay(request)).replay?.id ?? "");
    expect(await outcome(of(admin).startReplay(request))).toBe("limit_reached");
    const theirs = { webhookId: webhook.id, id: ids[0] ?? "" };
    expect(await outcome(of(other.admin).getReplay(theirs))).toBe("webhook_not_found");
    expect(await outcome(of(other.admin).cancelReplay(theirs))).toBe("webhook_not_found");
    const mine = await dispatcher.webhook(other.admin, receiver);
    expect(await outcome(of(other.admin).getReplay({ ...theirs, webhookId: mine.id }))).toBe("replay_not_found");
    const { replays } = await of(admin).listReplays({ webhookId: webhook.id });
    expect(replays.map(({ id }) => id)).toEqual(ids.reverse());
  });
});
