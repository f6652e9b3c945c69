import { afterEach, describe, expect, it } from "@jest/globals";
import { systemCaller, uuidv7 } from "@muster/kit";
import { toAppError } from "@muster/rpc";
import { outcome, until } from "@muster/testing";
import { queueAge } from "../store/throttled.ts";
import { eventMessage } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher, receiver } = ownDispatcher();
const senders: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const sender of senders.splice(0)) await sender.stop();
});
const type = "device.online";
const system = { caller: systemCaller("test") };

async function tenant(change: object = {}) {
  const { orgId, admin } = await dispatcher.organization();
  const webhook = await dispatcher.webhook(admin, receiver, change);
  const publish = () => dispatcher.events(admin).publish({ type, orgId, id: uuidv7() });
  /** Makes queued deliveries appear to have waited for this long. */
  const age = (seconds: number) =>
    dispatcher.change("UPDATE webhook_queue SET due_at = due_at - $2 * interval '1 s' WHERE org_id = $1", [
      orgId,
      seconds,
    ]);
  return { orgId, admin, webhook, publish, age };
}
/** Seconds for which the oldest sendable delivery has been due. */
const lateness = async (change: { hostConcurrency?: number } = {}) => {
  const all = { webhookConcurrency: 8, organizationConcurrency: 64, hostConcurrency: 64, ...change };
  return (await dispatcher.database.db.tx(system, (tx) => queueAge(tx, all))).oldestDueSeconds;
};
const checkTwice = async () => {
  await dispatcher.throttle.check();
  await dispatcher.throttle.check();
};

describe("while sendable deliveries are overdue", () => {
  it("events of their organization are refused with 503 and Retry-After, others are taken; afterwards all are", async () => {
    const slow = await tenant();
    const other = await tenant();
    await slow.publish();
    await slow.age(2);
    await checkTwice();
    const refusal = toAppError(await slow.publish().catch((error: unknown) => error));
    expect(refusal).toMatchObject({ code: "overloaded", retryAfterSeconds: 1 });
    expect(await outcome(other.publish())).toBe("ok");
    senders.push(dispatcher.sender());
    await until("the delivery", async () => (await dispatcher.queuedOf(slow.webhook.id)) === 0);
    await checkTwice();
    expect(await outcome(slow.publish())).toBe("ok");
  });

  it("an event is taken when nothing is overdue within 250 ms", async () => {
    const { publish, age, webhook } = await tenant();
    await publish();
    await age(2);
    await checkTwice();
    const publishing = outcome(publish());
    await dispatcher.change("DELETE FROM webhook_queue WHERE webhook_id = $1", [webhook.id]);
    await dispatcher.throttle.check();
    expect(await publishing).toBe("ok");
  });
});

describe("events are taken although deliveries age", () => {
  it("for a slot of their own webhook", async () => {
    const hanging = dispatcher.receivers[1];
    hanging.answer(() => undefined);
    const { publish, webhook } = await tenant({ url: dispatcher.urlOf(hanging) });
    senders.push(dispatcher.sender({ graceMs: 0 }));
    await Promise.all(Array.from({ length: 12 }, publish));
    await until("all slots", () => hanging.busiest() === 8);
    await dispatcher.change(
      "UPDATE webhook_queue SET due_at = due_at - interval '10 s' WHERE webhook_id = $1 AND NOT leased",
      [webhook.id],
    );
    await checkTwice();
    expect(await outcome(publish())).toBe("ok");
    expect(await lateness()).toBeLessThan(10);
  });

  it("behind the first one of an ordered webhook, which waits for its retry", async () => {
    const { orgId, webhook, publish, age } = await tenant({ ordered: true });
    await dispatcher.match([eventMessage(orgId), eventMessage(orgId)]);
    await age(10);
    await checkTwice();
    expect(toAppError(await publish().catch((error: unknown) => error))).toMatchObject({ code: "overloaded" });
    await dispatcher.change(
      `UPDATE webhook_queue SET is_retry = true, attempt = 1, due_at = now() + interval '1 h' WHERE delivery_id =
         (SELECT delivery_id FROM webhook_queue WHERE webhook_id = $1 ORDER BY due_at LIMIT 1)`,
      [webhook.id],
    );
    await checkTwice();
    expect(await outcome(publish())).toBe("ok");
    expect(await lateness()).toBeLessThan(10);
  });

  it("for a slot of their host, over all organizations", async () => {
    const [hanging, others] = [await tenant(), await tenant()];
    for (const { publish } of [hanging, others]) await publish();
    await dispatcher.change(
      "UPDATE webhook_queue SET leased = true, due_at = now() + interval '1 h' WHERE org_id = $1",
      [hanging.orgId],
    );
    await others.age(20);
    expect(await lateness()).toBeGreaterThan(19);
    expect(await lateness({ hostConcurrency: 1 })).toBeLessThan(19);
  });

  it("because their webhook is paused", async () => {
    const { publish, age, admin, webhook } = await tenant();
    await publish();
    await age(10);
    const change = { status: "paused" };
    await dispatcher.webhooks(admin).updateWebhook({ id: webhook.id, updateMask: { paths: ["status"] }, change });
    await checkTwice();
    expect(await outcome(publish())).toBe("ok");
  });
});

describe("while the backlog of their organization is overdue", () => {
  it("events are refused with 429 and Retry-After", async () => {
    const { orgId, publish } = await tenant({ ordered: true });
    await dispatcher.matchBatch([eventMessage(orgId)]);
    await dispatcher.change("UPDATE webhook_backlog SET put_at = put_at - interval '2 s' WHERE org_id = $1", [orgId]);
    await checkTwice();
    const refusal = toAppError(await publish().catch((error: unknown) => error));
    expect(refusal).toMatchObject({ code: "rate_limited", retryAfterSeconds: 1 });
  });
});
