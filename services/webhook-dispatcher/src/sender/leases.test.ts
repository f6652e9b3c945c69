import { describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { until } from "@muster/testing";
import { eventMessage, eventMessages } from "../testing/dispatcher.ts";
import { createEgressStub } from "../testing/egress-stub.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher, receiver } = ownDispatcher();

describe("a sender that stops responding", () => {
  it("leaves an attempt with unknown outcome, and the next request is marked as a possible repeat", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, receiver);
    const id = uuidv7();
    // The request goes out, its answer is never stored: the state after kill −9 between sending and storing.
    const silent = createEgressStub(dispatcher.egress);
    const first = dispatcher.sender({ egress: silent, leaseMs: 1_000, graceMs: 0 });
    await dispatcher.match([eventMessage(orgId, { id })]);
    await until("the first request", () => receiver.of(id).length === 1);
    await first.stop();
    const second = dispatcher.sender({ leaseMs: 1_000 });
    await until("the second request", () => receiver.of(id).length === 2);
    await until("the record", async () => (await dispatcher.deliveriesOf(webhook.id))[0]?.status === "delivered");
    await second.stop();
    expect(receiver.of(id).map(({ headers }) => headers["x-service-possible-duplicate"])).toEqual([undefined, "true"]);
    const { deliveries } = await dispatcher.deliveries(admin).listDeliveries({ webhookId: webhook.id });
    const { attempts } = await dispatcher
      .deliveries(admin)
      .getDelivery({ webhookId: webhook.id, id: deliveries[0]?.id ?? "" });
    expect(attempts).toMatchObject([
      { number: 1, interrupted: true, errorCode: "interrupted", possibleDuplicate: false },
      { number: 2, interrupted: false, responseStatus: 200, possibleDuplicate: true },
    ]);
  });
});

describe("one webhook that hangs", () => {
  it("gets at most eight concurrent requests over two senders, and other webhooks are served", async () => {
    const hanging = dispatcher.receivers[1];
    const healthy = dispatcher.receivers[2];
    hanging.answer(() => undefined);
    const bad = await dispatcher.organization();
    await dispatcher.webhook(bad.admin, hanging);
    const good = await dispatcher.organization();
    const hook = await dispatcher.webhook(good.admin, healthy);
    await dispatcher.match(eventMessages(bad.orgId, 200));
    await dispatcher.match(eventMessages(good.orgId, 200));
    const senders = [dispatcher.sender(), dispatcher.sender()];
    await until("all healthy deliveries", async () => {
      const [row] = await dispatcher.rows<{ n: number }>(
        "SELECT success_count AS n FROM webhook_endpoint_state WHERE webhook_id = $1",
        [hook.id],
      );
      return row?.n === 200;
    });
    expect(hanging.busiest()).toBeLessThanOrEqual(8);
    await Promise.all(senders.map((sender) => sender.stop()));
  });
});

describe("the breaker", () => {
  it("opens when nearly all requests fail, lets one request through at a time, and closes again", async () => {
    const broken = dispatcher.receivers[3];
    broken.answer((_request, response) => void response.writeHead(500).end());
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, broken);
    const limits = {
      breakerAttempts: 30,
      breakerDeliveries: 20,
      breakerFailurePercent: 80,
      breakerOpenSeconds: 1,
      webhookConcurrency: 8,
      failedAfterHours: 72,
      failedAfterAttempts: 50,
    };
    const sender = dispatcher.sender({ limits });
    await dispatcher.match(eventMessages(orgId, 60));
    const state = async () => {
      const [row] = await dispatcher.rows<{
        open_seconds: number;
        slots: number;
        failure_count: number;
        success_count: number;
      }>("SELECT open_seconds, slots, failure_count, success_count FROM webhook_endpoint_state WHERE webhook_id = $1", [
        webhook.id,
      ]);
      return row;
    };
    await until("the breaker to open", async () => ((await state())?.open_seconds ?? 0) > 0);
    expect(await state()).toMatchObject({ slots: 1 });
    broken.answer((_request, response) => void response.end());
    await until("everything to be delivered", async () => (await state())?.success_count === 60, 40_000);
    expect(await state()).toMatchObject({ open_seconds: 0, failure_count: 0 });
    await sender.stop();
  }, 60_000);
});
