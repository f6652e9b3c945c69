import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { until } from "@muster/testing";
import { eventMessage } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { ownSenders } from "../testing/own-senders.ts";

const { dispatcher, receiver } = ownDispatcher();
const start = ownSenders(dispatcher);
const type = "alert.triggered";
/** What JSON.parse and JSON.stringify would write otherwise: numbers, order, names, space, escapes. */
const dataJson = String.raw`{"n": 12345678901234567890, "one": 1.0,"zero":-0,	"b":1,"2":2,"1":1,"a":"\u00e9\/é","e":1E+2}`;

type Tenant = Awaited<ReturnType<typeof tenant>>;

async function tenant(change: object = {}) {
  const { orgId, admin } = await dispatcher.organization();
  const webhook = await dispatcher.webhook(admin, receiver, change);
  const publish = (request: object, idempotencyKey?: string) =>
    dispatcher
      .events(admin, idempotencyKey === undefined ? {} : { idempotencyKey })
      .publish({ type, dataJson, ...request });
  return { orgId, admin, webhook, publish, deliveries: dispatcher.deliveries(admin) };
}

const arrives = async (eventId: string, count = 1) => {
  await until("the request", () => receiver.of(eventId).length >= count);
  return receiver.of(eventId).slice(0, count);
};

/** The paths from a post to its requests; each resolves with the event's id. */
const paths: Record<string, () => Promise<{ posted: Tenant; id: string }>> = {
  "sent by the process that stores it": async () => {
    start();
    const posted = await tenant();
    return { posted, id: (await posted.publish({})).id };
  },
  "queued, and claimed later": async () => {
    const posted = await tenant();
    const { id } = await posted.publish({});
    start();
    return { posted, id };
  },
  "under an idempotency key, over the stream": async () => {
    start();
    const posted = await tenant();
    const { id } = await posted.publish({}, "once");
    expect(await dispatcher.matchStreamed(posted.orgId)).toBe(1);
    return { posted, id };
  },
  "under an idempotency key, over the stream to a process that sends nothing": async () => {
    const posted = await tenant();
    const { id } = await posted.publish({}, "once");
    expect(await dispatcher.matchStreamed(posted.orgId)).toBe(1);
    start();
    return { posted, id };
  },
  "over the stream and the backlog of an ordered webhook": async () => {
    start();
    const posted = await tenant({ ordered: true });
    const { id } = await posted.publish({});
    expect(await dispatcher.matchStreamed(posted.orgId)).toBe(1);
    return { posted, id };
  },
};

describe("a posted event", () => {
  it.each(Object.entries(paths))(
    "%s, arrives at its receiver and in the list as it was posted",
    async (_path, post) => {
      const { posted, id } = await post();
      const [request] = await arrives(id);
      expect(request?.body.endsWith(`,"data":${dataJson}}`)).toBe(true);
      expect(request?.headers["x-service-event-source"]).toBe("api");
      const { admin, webhook, deliveries } = posted;
      const list = await deliveries.listDeliveries({ webhookId: webhook.id, page: { page: 1, limit: 100 } });
      const postedBy = { source: "api", postedByType: "user", postedById: admin.actor.id };
      expect(list.deliveries).toMatchObject(list.deliveries.map(() => ({ payloadJson: dataJson, ...postedBy })));
    },
  );

  it("is sent again as it was posted: by a retry, a requeue and a replay", async () => {
    const { admin, webhook, publish, deliveries } = await tenant();
    await dispatcher.policy(webhook.id, { maxRetries: 0 });
    receiver.answer((_request, response) => void response.writeHead(500).end());
    const sender = start();
    const { id } = await publish({});
    const [letter] = await until("the dead letter", async () => {
      const { deadLetters } = await deliveries.listDeadLetters({});
      return deadLetters.length > 0 ? deadLetters : null;
    });
    receiver.answer((_request, response) => void response.end("ok"));
    const first = receiver.of(id).length;
    const again = [
      () => deliveries.retryDelivery({ webhookId: webhook.id, id: letter?.deliveryId ?? "" }),
      () => deliveries.requeueDeadLetter({ id: letter?.id ?? "" }),
      () =>
        dispatcher.replays(admin).startReplay({
          webhookId: webhook.id,
          since: timestampFromDate(new Date(Date.now() - 3_600_000)),
          status: "all",
        }),
    ];
    const replayer = dispatcher.replayer();
    for (const [n, run] of again.entries()) {
      await run();
      sender.wake();
      await arrives(id, first + n + 1);
    }
    await replayer.stop();
    expect(new Set(receiver.of(id).map(({ body }) => body)).size).toBe(1);
    expect(new Set(receiver.of(id).map(({ headers }) => headers["x-service-event-source"]))).toEqual(new Set(["api"]));
    const list = await deliveries.listDeliveries({ webhookId: webhook.id });
    expect(new Set(list.deliveries.map(({ postedById }) => postedById))).toEqual(new Set([admin.actor.id]));
    expect(receiver.of(id)[0]?.body.endsWith(`,"data":${dataJson}}`)).toBe(true);
  });

  it.each([
    ["no JSON", "{", false],
    ["no object", " [1]", false],
    ["too large by its space", `{${" ".repeat(65_536)}}`, false],
    ["the largest", `{"a":"${"x".repeat(65_528)}"}`, true],
  ])("is accepted only with data that is an object of at most 64 KiB: %s", async (_what, data, isTaken) => {
    const { publish } = await tenant();
    const posted = publish({ dataJson: data, id: uuidv7() });
    if (isTaken) await expect(posted).resolves.toBeDefined();
    else await expect(posted).rejects.toThrow("Validation failed");
  });
});

describe("an event of the stream", () => {
  it.each([
    ["identity", "user.login", "platform"],
    ["tenancy", "device.online", "platform"],
    // An earlier version emitted it: a service or a caller may have posted it.
    ["webhook-dispatcher", "user.login", undefined],
  ])(
    "emitted by %s with the type %s has the source %s, in its request, its attempt and its record",
    async (emitter, of, source) => {
      const { orgId, webhook, deliveries } = await tenant();
      start();
      const id = uuidv7();
      await dispatcher.match([eventMessage(orgId, { id, type: of, emitter })]);
      const [request] = await arrives(id);
      expect(request?.headers["x-service-event-source"]).toBe(source);
      const [listed] = await until("the outcome", async () => {
        const list = await deliveries.listDeliveries({ webhookId: webhook.id });
        return list.deliveries.every(({ status }) => status === "delivered") ? list.deliveries : null;
      });
      expect([listed?.source, listed?.postedById]).toEqual([source ?? "", ""]);
      const { attempts } = await deliveries.getDelivery({ webhookId: webhook.id, id: listed?.id ?? "" });
      const sent = JSON.parse(attempts[0]?.requestHeadersJson ?? "{}") as Record<string, string>;
      expect(sent["X-Service-Event-Source"]).toBe(source);
    },
  );
});

describe("a test event", () => {
  it("has the payload as it was posted", async () => {
    const { admin, webhook, deliveries } = await tenant();
    start();
    const { delivery } = await deliveries.testWebhook({ webhookId: webhook.id, event: type, payloadJson: dataJson });
    const [request] = await arrives(delivery?.eventId ?? "");
    expect([request?.body.endsWith(`,"data":${dataJson}}`), delivery?.payloadJson]).toEqual([true, dataJson]);
    expect(request?.headers["x-service-event-source"]).toBe("api");
    expect(delivery).toMatchObject({ source: "api", postedByType: "user", postedById: admin.actor.id });
  });
});
