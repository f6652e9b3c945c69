import { createHmac } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { until } from "@muster/testing";
import { messageIdOf } from "../rules/request.ts";
import { eventMessage } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher, receiver } = ownDispatcher();

describe("the sender", () => {
  it("delivers an event with every header and both signatures, and records it", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const secret = "a shared secret";
    const headers = [{ key: "X-Own", value: "mine" }];
    const webhook = await dispatcher.webhook(admin, receiver, { secret, headers });
    const id = uuidv7();
    const sender = dispatcher.sender();
    await dispatcher.match([eventMessage(orgId, { id, data: { hostname: "Zürich" } })]);
    const [request] = await until("the delivery", () => {
      const found = receiver.of(id);
      return found.length > 0 ? found : null;
    });
    const body = request?.body ?? "";
    expect(JSON.parse(body)).toEqual({
      id,
      type: "device.online",
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      orgId,
      data: { hostname: "Zürich" },
    });
    const [delivery] = await until("the record", async () => {
      const found = await dispatcher.deliveriesOf(webhook.id);
      return found[0]?.status === "delivered" ? found : null;
    });
    const got = request?.headers ?? {};
    const seconds = String(got["x-service-signature-timestamp"]);
    expect(got).toMatchObject({
      "content-type": "application/json",
      "user-agent": "Service-Webhooks/1.0",
      "x-service-delivery-id": delivery?.id,
      "x-service-event-id": id,
      "x-service-event-type": "device.online",
      "x-service-timestamp": expect.stringMatching(/^\d{13}$/),
      "x-service-attempt": "1",
      "x-own": "mine",
      "webhook-id": messageIdOf(webhook.id, id),
      "webhook-timestamp": seconds,
    });
    expect(got["x-service-possible-duplicate"]).toBeUndefined();
    const hex = createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
    expect(got["x-service-signature"]).toBe(`sha256=${hex}`);
    const base64 = createHmac("sha256", secret)
      .update(`${messageIdOf(webhook.id, id)}.${seconds}.${body}`)
      .digest("base64");
    expect(got["webhook-signature"]).toBe(`v1,${base64}`);
    expect(delivery).toMatchObject({ attempt: 1, response_status: 200, error_message: null });
    const { attempts } = await dispatcher
      .deliveries(admin)
      .getDelivery({ webhookId: webhook.id, id: delivery?.id ?? "" });
    expect(attempts).toMatchObject([
      { number: 1, responseStatus: 200, responseBody: "ok", remoteAddress: "127.0.0.1" },
    ]);
    expect(JSON.parse(attempts[0]?.requestHeadersJson ?? "")).toMatchObject({ "X-Own": "***" });
    await sender.stop();
  });

  it("retries at 1, 2, 4, 8 and 16 s, then stores a dead letter; a manual retry creates a new delivery", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const to = dispatcher.receivers[1];
    to.answer((_request, response) => void response.writeHead(500).end("broken"));
    const webhook = await dispatcher.webhook(admin, to);
    const id = uuidv7();
    const sender = dispatcher.sender();
    await dispatcher.match([eventMessage(orgId, { id })]);
    for (const [n, seconds] of [1, 2, 4, 8, 16].entries()) {
      const { due, ended } = await until(`failure ${n + 1}`, async () => {
        const [row] = await dispatcher.rows<{ due: Date; ended: Date }>(
          `SELECT q.due_at AS due, a.started_at + a.total_ms * interval '1 millisecond' AS ended
           FROM webhook_queue q JOIN webhook_attempts a ON a.delivery_id = q.delivery_id AND a.number = q.attempt
           WHERE q.webhook_id = $1 AND NOT q.leased AND q.failures = $2`,
          [webhook.id, n + 1],
        );
        return row;
      });
      // The delay counts from the end of the attempt, not from when a busy machine stored it.
      const [earliestMs, latestMs] = [ended.getTime(), Date.now()].map((ms) => ms + seconds * 1_000);
      expect(due.getTime()).toBeGreaterThanOrEqual(Number(earliestMs) - 5);
      expect(due.getTime()).toBeLessThanOrEqual(Number(latestMs) + 5);
      if (n === 0) {
        await until("the first retry", () => to.of(id).length === 2);
        const [first, second] = to.of(id).map(({ atMs }) => atMs);
        expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(950);
      } else {
        await dispatcher.change("UPDATE webhook_queue SET due_at = now() WHERE webhook_id = $1", [webhook.id]);
        sender.wake();
      }
    }
    const [failed] = await until("the last attempt", async () => {
      const found = await dispatcher.deliveriesOf(webhook.id);
      return found[0]?.status === "failed" ? found : null;
    });
    expect(failed).toMatchObject({ attempt: 6, error_message: "The receiver answered 500" });
    const client = dispatcher.deliveries(admin);
    const letters = await client.listDeadLetters({});
    expect(letters.deadLetters).toMatchObject([{ deliveryId: failed?.id, attempts: 6, eventId: id }]);

    to.answer((_request, response) => void response.writeHead(204).end());
    const again = await client.retryDelivery({ webhookId: webhook.id, id: failed?.id ?? "" });
    expect(again.delivery).toMatchObject({ status: "pending", attempt: 0, eventId: id });
    const both = await until("the manual retry", async () => {
      const found = await dispatcher.deliveriesOf(webhook.id);
      return found.some(({ status }) => status === "delivered") ? found : null;
    });
    expect(both.map(({ id: one, status }) => [one === failed?.id, status]).sort()).toEqual([
      [false, "delivered"],
      [true, "failed"],
    ]);
    const stats = (await dispatcher.webhooks(admin).getWebhook({ id: webhook.id })).stats;
    expect(stats).toMatchObject({ total: 2n, delivered: 1n, failed: 1n, pending: 0n, retrying: 0n });
    await sender.stop();
  });
});
