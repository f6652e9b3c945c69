import { createHmac } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { outcome, until } from "@muster/testing";
import { eventMessage } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { ownSenders } from "../testing/own-senders.ts";
import type { Received, Receiver } from "../testing/receiver.ts";

const { dispatcher, receiver } = ownDispatcher();
const start = ownSenders(dispatcher);

const seen = (to: Receiver, eventId: string, count = 1) =>
  until(`request ${count}`, () => (to.of(eventId).length >= count ? to.of(eventId) : null));

const status = (webhookId: string, wanted: string, forMs?: number) =>
  until(
    `a delivery ${wanted}`,
    async () => {
      const [row] = await dispatcher.deliveriesOf(webhookId);
      return row?.status === wanted ? row : null;
    },
    forMs,
  );

async function queued(change: object = {}, to = receiver) {
  const { orgId, admin } = await dispatcher.organization();
  const webhook = await dispatcher.webhook(admin, to, change);
  const eventId = uuidv7();
  await dispatcher.match([eventMessage(orgId, { id: eventId })]);
  const patch = (wanted: Record<string, unknown>) =>
    dispatcher
      .webhooks(admin)
      .updateWebhook({ id: webhook.id, updateMask: { paths: Object.keys(wanted) }, change: wanted });
  return { orgId, admin, webhook, eventId, patch };
}

/** X-Service-Signature as a receiver with that secret computes it. */
function signature(request: Received | undefined, secret: string): string {
  const input = `${request?.headers["x-service-signature-timestamp"]}.${request?.body}`;
  return `sha256=${createHmac("sha256", secret).update(input).digest("hex")}`;
}

describe("a change between queueing and sending", () => {
  it("sends to the new URL only", async () => {
    const { webhook, eventId, patch } = await queued();
    await patch({ url: dispatcher.urlOf(dispatcher.receivers[1]) });
    start();
    await seen(dispatcher.receivers[1], eventId);
    await status(webhook.id, "delivered");
    expect(receiver.of(eventId)).toEqual([]);
  });

  it("signs with the new secret only, and not at all without one", async () => {
    const changed = await queued({ secret: "old" });
    const dropped = await queued({ secret: "old" });
    await changed.patch({ secret: "new" });
    await dropped.patch({ secret: "" });
    start();
    const [request] = await seen(receiver, changed.eventId);
    expect(request?.headers["x-service-signature"]).toBe(signature(request, "new"));
    expect(request?.headers["x-service-signature-previous"]).toBeUndefined();
    const [unsigned] = await seen(receiver, dropped.eventId);
    expect(unsigned?.headers["x-service-signature"]).toBeUndefined();
  });

  it("sends nothing while paused or deleted; active again sends the waiting deliveries", async () => {
    const paused = await queued();
    const deleted = await queued();
    const other = await queued();
    await paused.patch({ status: "paused" });
    await dispatcher.webhooks(deleted.admin).deleteWebhook({ id: deleted.webhook.id });
    start();
    await seen(receiver, other.eventId);
    await status(other.webhook.id, "delivered");
    expect([receiver.of(paused.eventId), receiver.of(deleted.eventId)]).toEqual([[], []]);
    await paused.patch({ status: "active" });
    await seen(receiver, paused.eventId);
  });
});

describe("a change between two attempts", () => {
  it("takes effect immediately for a new URL and for paused", async () => {
    receiver.answer((_request, response) => void response.writeHead(503).end());
    const moved = await queued();
    const paused = await queued();
    start();
    await seen(receiver, moved.eventId);
    await seen(receiver, paused.eventId);
    await moved.patch({ url: dispatcher.urlOf(dispatcher.receivers[1]) });
    await paused.patch({ status: "paused" });
    const [request] = await seen(dispatcher.receivers[1], moved.eventId);
    expect(request?.headers["x-service-attempt"]).toBe("2");
    await status(moved.webhook.id, "delivered");
    expect(receiver.of(paused.eventId)).toHaveLength(1);
    expect((await dispatcher.deliveriesOf(paused.webhook.id))[0]?.status).toBe("retrying");
  });

  it("signs the next one with the new secret, and a deleted webhook gets no next one", async () => {
    receiver.answer((_request, response) => void response.writeHead(503).end());
    const changed = await queued({ secret: "old" });
    const deleted = await queued();
    const other = await queued();
    start();
    for (const { eventId } of [changed, deleted, other]) await seen(receiver, eventId);
    await changed.patch({ secret: "new" });
    await dispatcher.webhooks(deleted.admin).deleteWebhook({ id: deleted.webhook.id });
    // Until both others had their second attempt: that of the deleted one was due before them or with them.
    for (const { eventId } of [changed, other]) {
      await until("the second attempt", () => receiver.of(eventId).length >= 2, 30_000);
    }
    const [first, second] = receiver.of(changed.eventId);
    expect(first?.headers["x-service-signature"]).toBe(signature(first, "old"));
    expect(second?.headers["x-service-signature"]).toBe(signature(second, "new"));
    await until("the third attempt", () => receiver.of(other.eventId).length >= 3, 30_000);
    expect(receiver.of(deleted.eventId)).toHaveLength(1);
  }, 90_000);
});

describe("an open delivery", () => {
  it.each(["disabled", "error"])("keeps its state, without a next attempt, while its webhook is %s", async (stored) => {
    receiver.answer((_request, response) => void response.writeHead(503).end());
    const { webhook, admin, patch } = await queued();
    start();
    const { id } = await status(webhook.id, "retrying");
    const shown = async () => {
      const { delivery } = await dispatcher.deliveries(admin).getDelivery({ webhookId: webhook.id, id });
      const listed = await dispatcher.deliveries(admin).listDeliveries({ webhookId: webhook.id });
      expect(listed.deliveries[0]?.nextAttemptAt).toEqual(delivery?.nextAttemptAt);
      return [delivery?.status, delivery?.nextAttemptAt !== undefined];
    };
    await dispatcher.change("UPDATE webhooks SET status = $2, generation = generation + 1 WHERE id = $1", [
      webhook.id,
      stored,
    ]);
    expect(await shown()).toEqual(["retrying", false]);
    receiver.answer((_request, response) => void response.end());
    await patch({ status: "active" });
    await status(webhook.id, "delivered");
  });

  it("is removed with its webhook", async () => {
    receiver.answer((_request, response) => void response.writeHead(503).end());
    const { webhook, admin } = await queued();
    start();
    const { id } = await status(webhook.id, "retrying");
    await dispatcher.webhooks(admin).deleteWebhook({ id: webhook.id });
    const found = dispatcher.deliveries(admin).getDelivery({ webhookId: webhook.id, id });
    expect(await outcome(found)).toMatch(/_not_found/);
  });
});

describe("a URL that became unsafe after it was stored", () => {
  it.each([
    "https://169.254.169.254/latest",
    "https://localhost/",
    "http://example.com/",
    "https://0x7f.1/",
    "https://example.com:25/",
  ])("%s fails at once and permanently, without a call", async (url) => {
    const { webhook } = await queued();
    await dispatcher.reseal(webhook.id, url);
    start();
    const failed = await status(webhook.id, "failed");
    expect(failed).toMatchObject({ attempt: 1, error_code: "unsafe_url", error_message: "Unsafe webhook URL" });
  });
});

describe("an answer", () => {
  it("429 or 503 with Retry-After is retried later than the schedule, never earlier", async () => {
    receiver.answer((_request, response) => void response.writeHead(429, { "retry-after": "3" }).end());
    const later = await queued();
    start();
    const [first] = await seen(receiver, later.eventId);
    receiver.answer((_request, response) => void response.end());
    const [, second] = await seen(receiver, later.eventId, 2);
    const gap = (second?.atMs ?? 0) - (first?.atMs ?? 0);
    expect(gap).toBeGreaterThanOrEqual(2_950);
    expect(gap).toBeLessThan(3_600);
  });

  it("410 marks the webhook as failed immediately, with one audit row", async () => {
    receiver.answer((_request, response) => void response.writeHead(410).end());
    const { webhook, admin, patch } = await queued();
    start();
    const gone = await status(webhook.id, "failed");
    expect(gone).toMatchObject({ attempt: 1, error_message: "The receiver answered 410" });
    expect((await dispatcher.webhooks(admin).getWebhook({ id: webhook.id })).webhook?.status).toBe("failed");
    const rows = await dispatcher.rows<{ n: number }>(
      // Webhooks of the tests before may still have retries to be answered with 410, too.
      `SELECT count(*) AS n FROM outbox WHERE subject LIKE 'audit.%' AND position($1::bytea in body) > 0
         AND position($2::bytea in body) > 0`,
      [Buffer.from("webhook.fail"), Buffer.from(webhook.id)],
    );
    expect(rows[0]?.n).toBe(1);
    receiver.answer((_request, response) => void response.end());
    await patch({ status: "active" });
    await dispatcher.deliveries(admin).retryDelivery({ webhookId: webhook.id, id: gone.id });
    await until("the retry to be delivered", async () =>
      (await dispatcher.deliveriesOf(webhook.id)).some((row) => row.status === "delivered"),
    );
  });

  it("3xx is a failure, and its target gets no request", async () => {
    receiver.answer(
      (_request, response) =>
        void response.writeHead(302, { location: dispatcher.urlOf(dispatcher.receivers[1]) }).end(),
    );
    const { webhook, eventId } = await queued();
    start();
    expect(await status(webhook.id, "retrying")).toMatchObject({ error_message: "The receiver answered 302" });
    expect(dispatcher.receivers[1].of(eventId)).toEqual([]);
  });
});

describe("a webhook's own retry policy", () => {
  it("is honoured", async () => {
    receiver.answer((_request, response) => void response.writeHead(500).end());
    const { webhook, eventId } = await queued();
    const policy = { maxRetries: 2, initialDelayMs: 200, backoffMultiplier: 3 };
    await dispatcher.policy(webhook.id, policy);
    start();
    await status(webhook.id, "failed");
    const [a, b, c] = receiver.of(eventId).map(({ atMs }) => atMs) as [number, number, number];
    expect(receiver.of(eventId)).toHaveLength(3);
    expect(b - a).toBeGreaterThanOrEqual(190);
    expect(c - b).toBeGreaterThanOrEqual(590);
  });
});
