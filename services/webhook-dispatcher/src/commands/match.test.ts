import { describe, expect, it } from "@jest/globals";
import type { BusMessage } from "@muster/bus";
import { openDatabase } from "@muster/db";
import { createLogger } from "@muster/kit";
import { until } from "@muster/testing";
import { eventMessage, eventMessages } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { ownSenders } from "../testing/own-senders.ts";

const { dispatcher, receiver } = ownDispatcher();
const log = createLogger("match-test", "fatal");
const start = ownSenders(dispatcher);
const idle = { isIdle: () => true };
const unsent = { ...idle, start: () => undefined };
const tenant = async (change: object = {}) => {
  const { orgId, admin } = await dispatcher.organization();
  return { orgId, admin, webhook: await dispatcher.webhook(admin, receiver, change) };
};
const idOf = ({ msgId }: BusMessage) => msgId.split("/")[1] ?? "";
const queueOf = (webhookId: string) =>
  dispatcher.rows<{ leased: boolean; attempt: number }>(
    "SELECT leased, attempt FROM webhook_queue WHERE webhook_id = $1 ORDER BY leased DESC",
    [webhookId],
  );
const allDelivered = (webhookId: string, count: number) =>
  until("all outcomes", async () => {
    const rows = await dispatcher.deliveriesOf(webhookId);
    return rows.length === count && rows.every(({ status }) => status === "delivered");
  });

describe("an event of the stream", () => {
  it("is leased to the process that matched it when COMMIT returns, and sent by it", async () => {
    start();
    const { orgId, webhook } = await tenant();
    const held = eventMessage(orgId);
    await dispatcher.matchBatch([held], unsent);
    expect(await queueOf(webhook.id)).toEqual([{ leased: true, attempt: 1 }]);
    const sent = eventMessage(orgId);
    await dispatcher.matchBatch([sent], idle);
    await until("the request", () => receiver.of(idOf(sent)).length === 1);
    expect(receiver.of(idOf(sent))[0]?.headers).toMatchObject({ "x-service-attempt": "1" });
    expect(receiver.of(idOf(sent))[0]?.headers["x-service-possible-duplicate"]).toBeUndefined();
    expect(receiver.of(idOf(held))).toEqual([]);
  });

  it("is sent once when the stream repeats it", async () => {
    start();
    const { orgId, webhook } = await tenant();
    const message = eventMessage(orgId);
    await Promise.all([dispatcher.matchBatch([message], idle), dispatcher.matchBatch([message])]);
    await dispatcher.matchBatch([message, message], idle);
    await allDelivered(webhook.id, 1);
    expect(receiver.of(idOf(message))).toHaveLength(1);
  });

  it("is sent by the next process, as a possible repeat, when its process ended between COMMIT and the first byte", async () => {
    const first = dispatcher.sender({ leaseMs: 1_000, graceMs: 0 });
    const { orgId, webhook } = await tenant();
    const message = eventMessage(orgId);
    await dispatcher.matchBatch([message], unsent);
    await first.stop();
    start({ leaseMs: 1_000 });
    // Not acknowledged: the stream delivers it again.
    await dispatcher.matchBatch([message]);
    await allDelivered(webhook.id, 1);
    expect(receiver.of(idOf(message)).map(({ headers }) => headers["x-service-possible-duplicate"])).toEqual(["true"]);
  });

  it("is not sent when its webhook was paused between COMMIT and the request", async () => {
    start();
    const { orgId, admin, webhook } = await tenant();
    const own = openDatabase({ url: dispatcher.database.appUrl, max: 5, name: "late", log });
    const stalled: typeof own = {
      ...own,
      async tx(who, run, options) {
        const result = await own.tx(who, run, options);
        const change = { id: webhook.id, updateMask: { paths: ["status"] }, change: { status: "paused" } };
        await dispatcher.webhooks(admin).updateWebhook(change);
        await new Promise((resolve) => setTimeout(resolve, 150));
        return result;
      },
    };
    const message = eventMessage(orgId);
    await dispatcher.matchBatch([message], { ...idle, db: stalled });
    await until("the lease to be given back", async () => (await queueOf(webhook.id)).every(({ leased }) => !leased));
    expect(receiver.of(idOf(message))).toEqual([]);
    await own.close();
  });

  it("waits in the queue without a free slot of its webhook, and follows", async () => {
    start();
    const { orgId, webhook } = await tenant();
    const messages = eventMessages(orgId, 12);
    await dispatcher.matchBatch(messages, unsent);
    expect((await queueOf(webhook.id)).map(({ leased }) => leased)).toEqual(messages.map((_, index) => index < 8));
    await dispatcher.change(
      "UPDATE webhook_queue SET leased = false, attempt = 0, due_at = now() WHERE webhook_id = $1",
      [webhook.id],
    );
    await dispatcher.matchBatch(eventMessages(orgId, 1));
    await allDelivered(webhook.id, 13);
  });

  it("is queued for all senders while its process claims", async () => {
    start();
    const { orgId, webhook } = await tenant();
    await dispatcher.matchBatch([eventMessage(orgId)], { ...unsent, isIdle: () => false });
    await allDelivered(webhook.id, 1);
  });

  it("is queued for all senders in a large batch", async () => {
    start();
    const { orgId, webhook } = await tenant();
    const events = eventMessages(orgId, 40);
    await dispatcher.matchBatch(events, unsent);
    await allDelivered(webhook.id, 40);
  });

  it("keeps its order for an ordered webhook beside events of other organizations", async () => {
    start();
    const [ordered, other] = [await tenant({ ordered: true }), await tenant()];
    const inOrder = [1, 2, 3].map((seq) => eventMessage(ordered.orgId, { seq }));
    const [first, ...later] = inOrder;
    if (!first) throw new Error("no event");
    await dispatcher.matchBatch([first], idle);
    expect(await queueOf(ordered.webhook.id)).toEqual([]);
    await dispatcher.match([...later, eventMessage(other.orgId)]);
    await Promise.all([allDelivered(ordered.webhook.id, 3), allDelivered(other.webhook.id, 1)]);
    const seen = receiver.received.map(({ headers }) => String(headers["x-service-event-id"]));
    expect(seen.filter((id) => inOrder.map(idOf).includes(id))).toEqual(inOrder.map(idOf));
  });

  it("is queued, not leased, when its organization is missing here and webhooks subscribe to it", async () => {
    start();
    const { orgId, webhook } = await tenant();
    await dispatcher.change("DELETE FROM tenant WHERE id = $1", [orgId]);
    const message = eventMessage(orgId);
    await dispatcher.matchBatch([message], unsent);
    await allDelivered(webhook.id, 1);
  });
});
