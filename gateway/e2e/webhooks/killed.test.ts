import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { newOrganization, newPartner, signedInAs, type TestUser } from "../support/users.ts";

const patienceMs = 120_000;
const events = 60;
const kills = 2;
let cluster: LentCluster;
let receiver: Receiver;
let admin: TestUser;
beforeAll(async () => {
  cluster = await lentCluster("killed");
  receiver = await startReceiver(cluster);
  const partnerId = await newPartner(cluster);
  admin = await signedInAs(cluster, "org-admin", { partnerId, orgId: await newOrganization(cluster, partnerId) });
}, lendMs);
afterAll(async () => {
  await receiver?.close();
  await cluster?.giveBack();
});

const pidNow = async () => (await cluster.stack()).services["webhook-dispatcher"]?.pid ?? null;

/** Kills the dispatcher, and waits for its replacement. */
async function killDispatcher(): Promise<void> {
  const pid = await until("a dispatcher", pidNow, patienceMs);
  process.kill(pid, "SIGKILL");
  const isAnother = async () => ![null, pid].includes(await pidNow());
  await until("another dispatcher", isAnother, patienceMs);
}

/** A call as a careful client makes it: repeated under its key until it is answered. */
async function answered(path: string, body?: object): Promise<Record<string, unknown>> {
  const headers = { "idempotency-key": randomUUID() };
  return until(
    `an answer of ${path}`,
    async () => {
      const reply = await admin.api.call("POST", path, body, headers).catch(() => null);
      if (reply !== null && reply.status < 500 && reply.status !== 202) {
        throw new Error(`answered ${reply.status}: ${reply.text}`);
      }
      return reply?.status === 202 ? reply.body : null;
    },
    patienceMs,
  );
}

/** The `webhook-id`s under which each event was received since `receiver.received` was emptied. */
const webhookIds = () => {
  const found = new Map<string, string>();
  for (const { headers, body } of receiver.received) {
    const { id } = JSON.parse(body) as { id: string };
    found.set(id, [...new Set([...(found.get(id)?.split(" ") ?? []), String(headers["webhook-id"])])].join(" "));
  }
  return found;
};

type Listed = { id: string; status: string; origin: string; repeats: string | null; event: string };
const deliveriesOf = async (webhookId: string): Promise<Listed[]> => {
  const found: Listed[] = [];
  for (let cursor = ""; ; ) {
    const reply = await admin.api.call("GET", `/webhooks/${webhookId}/deliveries?limit=100${cursor}`);
    found.push(...((reply.body.data ?? []) as Listed[]));
    const { nextCursor } = reply.body.pagination as { nextCursor: string | null };
    if (!nextCursor) return found;
    cursor = `&cursor=${encodeURIComponent(nextCursor)}`;
  }
};

/** A webhook to which `events` events were delivered; the `webhook-id` of each. */
async function delivered(type: string) {
  receiver.received.length = 0;
  receiver.answer((_received, response) => void response.end("ok"));
  const { body } = await admin.api.call("POST", "/webhooks", { name: type, url: receiver.url, events: [type] });
  const webhookId = String(body.id);
  for (let n = 0; n < events; n++) await answered("/events", { type, data: { n } });
  const isDone = async () => (await admin.api.call("GET", `/webhooks/${webhookId}`)).body.successCount === events;
  await until("the first deliveries", isDone, patienceMs);
  const ids = webhookIds();
  expect(ids.size).toBe(events);
  receiver.received.length = 0;
  // Slow enough that each kill meets some that wait for their answer.
  receiver.answer((_received, response) => void setTimeout(() => response.end("ok"), 200));
  return { webhookId, ids };
}

describe("while the dispatcher is killed -9 again and again", () => {
  it("a replay sends every event, under its webhook-id and as one delivery", async () => {
    const { webhookId, ids } = await delivered("patch.installed");
    const wanted = { since: "2020-01-01T00:00:00Z", deliveryStatus: "delivered" };
    const { id } = await answered(`/webhooks/${webhookId}/replay`, wanted);
    for (let n = 1; n <= kills; n++) {
      await until("some requests", () => webhookIds().size >= n * 8, patienceMs);
      await killDispatcher();
    }
    const replay = async () => (await admin.api.call("GET", `/webhooks/${webhookId}/replays/${id}`)).body;
    const outcomes = { pending: 0, retrying: 0, delivered: events, failed: 0 };
    // The last delivery may end before the replay is marked done.
    const isOver = async () => {
      const { status, outcomes: now } = await replay();
      return status === "done" && JSON.stringify(now) === JSON.stringify(outcomes);
    };
    await until("every outcome", isOver, patienceMs);
    expect(await replay()).toMatchObject({ status: "done", queued: events, skipped: 0 });
    expect(webhookIds()).toEqual(ids);
    expect(await deliveriesOf(webhookId)).toHaveLength(2 * events);
  }, 400_000);

  it("every resend that was answered is sent, under its webhook-id and as one delivery", async () => {
    const { webhookId, ids } = await delivered("patch.failed");
    const first = await deliveriesOf(webhookId);
    let sent = 0;
    const resending = (async () => {
      for (const { id } of first) {
        await answered(`/webhooks/${webhookId}/deliveries/${id}/resend`);
        sent += 1;
      }
    })();
    for (let n = 1; n <= kills; n++) {
      await until("some resends", () => sent >= n * 12, patienceMs);
      await killDispatcher();
    }
    await resending;
    const areSent = async () =>
      (await admin.api.call("GET", `/webhooks/${webhookId}`)).body.successCount === 2 * events;
    await until("every outcome", areSent, patienceMs);
    expect(webhookIds()).toEqual(ids);
    const repeats = (await deliveriesOf(webhookId)).flatMap((each) => (each.repeats === null ? [] : [each.repeats]));
    expect(repeats.sort()).toEqual(first.map(({ id }) => id).sort());
  }, 400_000);
});
