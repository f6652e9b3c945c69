import { fromBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { createLogger, gauge, healthChangedType } from "@muster/kit";
import { PlatformEventSchema } from "@muster/proto/muster/events/v1/platform_pb";
import { outcome, until } from "@muster/testing";
import { eventMessage } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { reportHealth } from "./health-reporter.ts";

const { dispatcher, receiver } = ownDispatcher();

const thresholds = { failingAttempts: 5, unreachableAttempts: 20, slowSeconds: 60 };
const log = createLogger("health-test", "fatal");
const report = (now = new Date()) => reportHealth({ db: dispatcher.database.db, log, now: () => now, thresholds });
const minutesLater = (minutes: number) => new Date(Date.now() + minutes * 60_000);
const failed = (webhookId: string, attempts: number) =>
  dispatcher.change("UPDATE webhook_endpoint_state SET failed_attempts = $2 WHERE webhook_id = $1", [
    webhookId,
    attempts,
  ]);

/** What the outbox reports of an organization's webhooks: each as `<status> after <previous>`. */
async function reported(orgId: string): Promise<string[]> {
  const rows = await dispatcher.rows<{ body: Buffer }>("SELECT body FROM outbox WHERE subject = $1 ORDER BY id", [
    `events.webhook-dispatcher.${orgId}.${healthChangedType}`,
  ]);
  return rows.map(({ body }) => {
    const data = JSON.parse(fromBinary(PlatformEventSchema, body).dataJson) as Record<string, string>;
    return `${data.status} after ${data.previousStatus}`;
  });
}

describe("the health of a webhook", () => {
  it("is the same in the list and in the record, with its reason", async () => {
    const { admin } = await dispatcher.organization();
    const { id } = await dispatcher.webhook(admin, receiver);
    const both = async () => {
      const { webhooks } = await dispatcher.webhooks(admin).listWebhooks({});
      const { webhook } = await dispatcher.webhooks(admin).getWebhook({ id });
      expect(webhooks[0]?.health).toEqual(webhook?.health);
      return webhook?.health?.status;
    };
    expect(await both()).toBe("healthy");
    await failed(id, 5);
    expect(await both()).toBe("failing");
    await failed(id, 20);
    expect(await both()).toBe("unreachable");
    const { webhook } = await dispatcher.webhooks(admin).getWebhook({ id });
    expect(webhook?.health?.reason).toBe("20 attempts in a row failed.");
  });

  it("is slow while a delivery has been due for long, but not while it is paused", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const { id } = await dispatcher.webhook(admin, receiver);
    await dispatcher.match([eventMessage(orgId)]);
    await dispatcher.change("UPDATE webhook_queue SET due_at = now() - interval '61 s' WHERE webhook_id = $1", [id]);
    const status = async () => (await dispatcher.webhooks(admin).listWebhooks({})).webhooks[0]?.health?.status;
    expect(await status()).toBe("slow");
    const change = { status: "paused" };
    await dispatcher.webhooks(admin).updateWebhook({ id, updateMask: { paths: ["status"] }, change });
    expect(await status()).toBe("healthy");
  });

  it("is reported when it changes, each status once in ten minutes", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const { id } = await dispatcher.webhook(admin, receiver);
    await report();
    expect(await reported(orgId)).toEqual([]);
    await failed(id, 5);
    await Promise.all([report(), report()]);
    await report();
    await failed(id, 0);
    await report();
    expect(await reported(orgId)).toEqual(["failing after healthy", "healthy after failing"]);
    await failed(id, 6);
    await report(minutesLater(9));
    expect(await reported(orgId)).toHaveLength(2);
    await report(minutesLater(11));
    expect((await reported(orgId)).slice(2)).toEqual(["failing after healthy"]);
  });

  it("is counted, each status in its own series", async () => {
    const { admin } = await dispatcher.organization();
    const { id } = await dispatcher.webhook(admin, receiver);
    const counts = async (attempts: number): Promise<Record<string, number>> => {
      await failed(id, attempts);
      await report();
      const { values } = await gauge("muster_webhook_dispatcher_webhooks", "", ["health"]).get();
      return Object.fromEntries(values.map(({ labels, value }) => [labels.health, value]));
    };
    const { healthy = 0, slow = 0, failing = 0, unreachable = 0 } = await counts(0);
    const others = { healthy: healthy - 1, slow };
    expect(await counts(5)).toEqual({ ...others, failing: failing + 1, unreachable });
    expect(await counts(20)).toEqual({ ...others, failing, unreachable: unreachable + 1 });
  });

  it("reaches the webhooks that name the type, never by a pattern, and never the webhook itself", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const events = [healthChangedType];
    const { id: failing } = await dispatcher.webhook(admin, receiver, { events: [...events, "device.online"] });
    const { id: naming } = await dispatcher.webhook(admin, receiver, { events });
    const { id: any } = await dispatcher.webhook(admin, receiver);
    const { id: pattern } = await dispatcher.webhook(admin, receiver, { events: ["webhook.*", "device.*"] });
    await failed(failing, 5);
    await report();
    await dispatcher.matchStreamed(orgId);
    await until("the delivery", async () => (await dispatcher.deliveriesOf(naming)).length === 1);
    expect(await dispatcher.deliveriesOf(failing)).toEqual([]);
    expect(await dispatcher.deliveriesOf(any)).toEqual([]);
    expect(await dispatcher.deliveriesOf(pattern)).toEqual([]);
    const { deliveries } = await dispatcher.deliveries(admin).listDeliveries({ webhookId: naming });
    expect(deliveries[0]?.source).toBe("platform");
    expect(JSON.parse(deliveries[0]?.payloadJson ?? "")).toMatchObject({ webhookId: failing, status: "failing" });
  });

  it("cannot be posted by a caller of the API", async () => {
    const { admin } = await dispatcher.organization();
    const posting = dispatcher.events(admin).publish({ type: healthChangedType, dataJson: "{}" });
    expect(await outcome(posting)).toBe("unknown_event_type");
  });
});
