import { describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { until } from "@muster/testing";
import { eventMessage, eventMessages } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import type { Receiver } from "../testing/receiver.ts";

const { dispatcher, receiver } = ownDispatcher();

const eventsAt = (of: Receiver, ids: readonly string[]) =>
  of.received.map(({ headers }) => String(headers["x-service-event-id"])).filter((id) => ids.includes(id));

describe("an ordered webhook", () => {
  it("gets its events one at a time in their order, from two senders and over several batches", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, receiver, { ordered: true });
    expect(webhook.ordered).toBe(true);
    // Ids whose order is not that of the events.
    const ids = Array.from({ length: 30 }, () => uuidv7()).sort(() => Math.random() - 0.5);
    const senders = [dispatcher.sender(), dispatcher.sender()];
    for (let at = 0; at < ids.length; at += 10) {
      await dispatcher.match(ids.slice(at, at + 10).map((id) => eventMessage(orgId, { id })));
    }
    await until("all of them", () => eventsAt(receiver, ids).length === ids.length, 30_000);
    await Promise.all(senders.map((sender) => sender.stop()));
    expect(eventsAt(receiver, ids)).toEqual(ids);
    expect(receiver.busiest()).toBe(1);
  }, 60_000);

  it("gets them in their order also when a burst puts most of them in the backlog", async () => {
    const third = dispatcher.receivers[3];
    const { orgId, admin } = await dispatcher.organization();
    await dispatcher.webhook(admin, third, { ordered: true });
    const ids = Array.from({ length: 130 }, () => uuidv7()).sort(() => Math.random() - 0.5);
    await dispatcher.matchBatch(ids.slice(0, 120).map((id) => eventMessage(orgId, { id })));
    // Later events do not overtake the backlog.
    await dispatcher.matchBatch(ids.slice(120).map((id) => eventMessage(orgId, { id })));
    while ((await dispatcher.processBacklog()).taken > 0);
    const sender = dispatcher.sender();
    await until("all of them", () => eventsAt(third, ids).length === ids.length, 60_000);
    await sender.stop();
    expect(eventsAt(third, ids)).toEqual(ids);
  }, 90_000);

  it("gets no event before all earlier ones of the stream are stored, whichever batch was stored first", async () => {
    const third = dispatcher.receivers[3];
    const { orgId, admin } = await dispatcher.organization();
    await dispatcher.webhook(admin, third, { ordered: true });
    const ids = Array.from({ length: 20 }, () => uuidv7());
    const messages = ids.map((id, n) => eventMessage(orgId, { id, seq: 101 + n }));
    await dispatcher.matchBatch(messages.slice(10));
    expect(await dispatcher.processBacklog({ settled: 100, delivered: 120 })).toEqual({ taken: 0, left: true });
    await dispatcher.matchBatch(messages.slice(0, 10));
    expect(await dispatcher.processBacklog({ settled: 110, delivered: 120 })).toEqual({ taken: 10, left: true });
    expect(await dispatcher.processBacklog({ settled: 120, delivered: 120 })).toEqual({ taken: 10, left: true });
    const sender = dispatcher.sender();
    await until("all of them", () => eventsAt(third, ids).length === ids.length, 30_000);
    await sender.stop();
    expect(eventsAt(third, ids)).toEqual(ids);
  }, 60_000);

  it("is not blocked by the backlog of a stream that no longer exists", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, dispatcher.receivers[3], { ordered: true });
    await dispatcher.matchBatch([eventMessage(orgId, { seq: 5_000 })]);
    expect(await dispatcher.processBacklog({ settled: 3, delivered: 3 })).toMatchObject({ taken: 0 });
    await dispatcher.change("UPDATE webhook_backlog SET put_at = now() - interval '2 minutes' WHERE org_id = $1", [
      orgId,
    ]);
    expect(await dispatcher.processBacklog({ settled: 3, delivered: 3 })).toMatchObject({ taken: 1 });
    expect(await dispatcher.queuedOf(webhook.id)).toBe(1);
  });

  it("holds later events while one waits for its retry, and continues when its retries are exhausted", async () => {
    const flaky = dispatcher.receivers[1];
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, flaky, { ordered: true });
    await dispatcher.policy(webhook.id, { maxRetries: 2, initialDelayMs: 200 });
    const ids = Array.from({ length: 4 }, () => uuidv7());
    const [, once, never] = ids;
    let failures = 0;
    flaky.answer(({ headers }, response) => {
      const id = headers["x-service-event-id"];
      const fails = id === never || (id === once && failures++ === 0);
      response.writeHead(fails ? 500 : 200).end();
    });
    const sender = dispatcher.sender();
    await dispatcher.match(ids.map((id) => eventMessage(orgId, { id })));
    await until("the last one", () => eventsAt(flaky, ids).includes(String(ids[3])), 30_000);
    await sender.stop();
    expect(eventsAt(flaky, ids)).toEqual([ids[0], once, once, never, never, never, ids[3]]);
  }, 60_000);

  it("becomes ordered, or unordered, from the next attempt on after a change", async () => {
    const slow = dispatcher.receivers[2];
    const { orgId, admin } = await dispatcher.organization();
    const webhook = await dispatcher.webhook(admin, slow);
    const change = (ordered: boolean) =>
      dispatcher
        .webhooks(admin)
        .updateWebhook({ id: webhook.id, updateMask: { paths: ["ordered"] }, change: { ordered } });
    expect((await change(true)).webhook?.ordered).toBe(true);
    const held: (() => void)[] = [];
    slow.answer((_request, response) => held.push(() => response.end()));
    const sender = dispatcher.sender();
    await dispatcher.match(eventMessages(orgId, 6));
    await until("the first request", () => held.length === 1);
    expect(slow.busiest()).toBe(1);
    expect((await change(false)).webhook?.ordered).toBe(false);
    await until("the others in parallel with it", () => held.length === 6);
    for (const answer of held) answer();
    await sender.stop();
  }, 60_000);
});
