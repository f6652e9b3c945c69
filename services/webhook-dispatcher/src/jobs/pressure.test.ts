import { afterEach, describe, expect, it } from "@jest/globals";
import { systemCaller, uuidv7 } from "@muster/kit";
import { toAppError } from "@muster/rpc";
import { outcome, until } from "@muster/testing";
import { queueAge } from "../store/pressure.ts";
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
  /** Makes queued deliveries look as if they had waited for this long. */
  const wait = (seconds: number) =>
    dispatcher.change("UPDATE webhook_queue SET due_at = due_at - $2 * interval '1 s' WHERE org_id = $1", [
      orgId,
      seconds,
    ]);
  return { orgId, admin, webhook, publish, wait };
}
/** Seconds since the oldest of this organization's deliveries that a sender may start fell due. */
const lateness = async (slots: { hostSlots?: number } = {}) => {
  const all = { endpointSlots: 8, organizationSlots: 64, hostSlots: 64, ...slots };
  return (await dispatcher.database.db.tx(system, (tx) => queueAge(tx, all))).oldestDueSeconds;
};
const lookTwice = async () => {
  await dispatcher.pressure.look();
  await dispatcher.pressure.look();
};

describe("while deliveries wait for senders for too long", () => {
  it("events of their organization are refused with 503 and the time to wait, others are taken; afterwards all are", async () => {
    const slow = await tenant();
    const other = await tenant();
    await slow.publish();
    await slow.wait(2);
    await lookTwice();
    const refusal = toAppError(await slow.publish().catch((error: unknown) => error));
    expect(refusal).toMatchObject({ code: "overloaded", retryAfterSeconds: 1 });
    expect(await outcome(other.publish())).toBe("ok");
    senders.push(dispatcher.sender());
    await until("the delivery", async () => (await dispatcher.queuedOf(slow.webhook.id)) === 0);
    await lookTwice();
    expect(await outcome(slow.publish())).toBe("ok");
  });

  it("an event that waits no longer within 250 ms is taken", async () => {
    const { publish, wait, webhook } = await tenant();
    await publish();
    await wait(2);
    await lookTwice();
    const publishing = outcome(publish());
    await dispatcher.change("DELETE FROM webhook_queue WHERE webhook_id = $1", [webhook.id]);
    await dispatcher.pressure.look();
    expect(await publishing).toBe("ok");
  });
});

describe("events are taken although deliveries wait", () => {
  it("for their own receiver that hangs", async () => {
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
    await lookTwice();
    expect(await outcome(publish())).toBe("ok");
    expect(await lateness()).toBeLessThan(10);
  });

  it("for a host that has as many requests under way as it may, over all organizations", async () => {
    const [hanging, others] = [await tenant(), await tenant()];
    for (const { publish } of [hanging, others]) await publish();
    await dispatcher.change(
      "UPDATE webhook_queue SET leased = true, due_at = now() + interval '1 h' WHERE org_id = $1",
      [hanging.orgId],
    );
    await others.wait(20);
    expect(await lateness()).toBeGreaterThan(19);
    expect(await lateness({ hostSlots: 1 })).toBeLessThan(19);
  });

  it("because their webhook is paused", async () => {
    const { publish, wait, admin, webhook } = await tenant();
    await publish();
    await wait(10);
    const change = { status: "paused" };
    await dispatcher.webhooks(admin).updateWebhook({ id: webhook.id, updateMask: { paths: ["status"] }, change });
    await lookTwice();
    expect(await outcome(publish())).toBe("ok");
  });
});

describe("behind a burst of their own", () => {
  it("events are refused with 429 and the time to wait", async () => {
    const { orgId, publish } = await tenant({ ordered: true });
    await dispatcher.matchBatch([eventMessage(orgId)]);
    await dispatcher.change("UPDATE webhook_backlog SET put_at = put_at - interval '2 s' WHERE org_id = $1", [orgId]);
    await lookTwice();
    const refusal = toAppError(await publish().catch((error: unknown) => error));
    expect(refusal).toMatchObject({ code: "rate_limited", retryAfterSeconds: 1 });
  });
});
