import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { until } from "@muster/testing";
import { eventMessage } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher, receiver } = ownDispatcher();

const since = timestampFromDate(new Date(Date.now() - 3_600_000));
const idsOf = (eventId: string, header: string) => receiver.of(eventId).map(({ headers }) => headers[header]);

describe("webhook-id", () => {
  it("stays the same over retries, a manual retry, a requeue and a replay, whose delivery ids differ", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, receiver);
    const deliveries = dispatcher.deliveries(admin);
    const id = uuidv7();
    receiver.answer((_request, response) => void response.writeHead(500).end());
    const sender = dispatcher.sender();
    const replayer = dispatcher.replayer();
    await dispatcher.match([eventMessage(orgId, { id })]);
    const [letter] = await until("the dead letter", async () => {
      await dispatcher.change("UPDATE webhook_queue SET due_at = now() WHERE webhook_id = $1 AND NOT leased", [
        webhook.id,
      ]);
      sender.wake();
      const { deadLetters } = await deliveries.listDeadLetters({});
      return deadLetters.length > 0 ? deadLetters : null;
    });
    receiver.answer((_request, response) => void response.writeHead(204).end());
    const sentOnce = receiver.of(id).length;
    const afterwards = async (what: string, run: () => Promise<unknown>, requests: number) => {
      await run();
      sender.wake();
      await until(what, () => receiver.of(id).length === requests);
    };
    const deliveryId = letter?.deliveryId ?? "";
    await afterwards(
      "the retry",
      () => deliveries.retryDelivery({ webhookId: webhook.id, id: deliveryId }),
      sentOnce + 1,
    );
    await afterwards("the requeue", () => deliveries.requeueDeadLetter({ id: letter?.id ?? "" }), sentOnce + 2);
    const replays = dispatcher.replays(admin);
    const replay = () => replays.startReplay({ webhookId: webhook.id, since, status: "all" });
    await replay();
    await until("the replay", () => receiver.of(id).length > sentOnce + 2, 30_000);
    await Promise.all([sender.stop(), replayer.stop()]);

    const [messageIds, deliveryIds] = [idsOf(id, "webhook-id"), idsOf(id, "x-service-delivery-id")];
    expect(messageIds[0]).toMatch(/^msg_[\w-]{22}$/);
    expect(new Set(messageIds).size).toBe(1);
    expect(new Set(deliveryIds).size).toBeGreaterThanOrEqual(4);
  }, 60_000);

  it("differs between two webhooks of an event, and between two organizations that post the same event id", async () => {
    const [one, other] = [await dispatcher.organization(), await dispatcher.organization()];
    await dispatcher.webhook(one.admin, receiver);
    await dispatcher.webhook(one.admin, receiver);
    await dispatcher.webhook(other.admin, receiver);
    const id = uuidv7();
    const sender = dispatcher.sender();
    await dispatcher.match([eventMessage(one.orgId, { id }), eventMessage(other.orgId, { id })]);
    await until("three requests", () => receiver.of(id).length === 3);
    await sender.stop();
    expect(new Set(idsOf(id, "webhook-id")).size).toBe(3);
  });
});
