import { describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { outcome } from "@muster/testing";
import { eventMessage, eventMessages } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher, receiver } = ownDispatcher();

describe("an event", () => {
  it("makes one delivery for each active webhook of its organization that subscribes to its type", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const other = await dispatcher.organization();
    const all = await dispatcher.webhook(admin, receiver);
    const typed = await dispatcher.webhook(admin, receiver, { events: ["alert.triggered", "device.online"] });
    const elsewhere = await dispatcher.webhook(admin, receiver, { events: ["alert.resolved"] });
    const paused = await dispatcher.webhook(admin, receiver);
    await dispatcher
      .webhooks(admin)
      .updateWebhook({ id: paused.id, updateMask: { paths: ["status"] }, change: { status: "paused" } });
    const foreign = await dispatcher.webhook(other.admin, receiver);
    const at = new Date(Date.now() - 60_000);
    await dispatcher.match([eventMessage(orgId, { at })]);
    const counts = [all, typed, elsewhere, paused, foreign].map(({ id }) => dispatcher.queuedOf(id));
    expect(await Promise.all(counts)).toEqual([1, 1, 0, 0, 0]);
    expect((await dispatcher.deliveriesOf(all.id))[0]).toMatchObject({ status: "pending", created_at: at });
  });

  it("changes nothing when repeated, whatever its time; the same id of another organization is another event", async () => {
    const [a, b] = [await dispatcher.organization(), await dispatcher.organization()];
    const hookOfA = await dispatcher.webhook(a.admin, receiver);
    const hookOfB = await dispatcher.webhook(b.admin, receiver);
    const id = uuidv7();
    const first = eventMessage(a.orgId, { id });
    await Promise.all([dispatcher.match([first, first]), dispatcher.match([first])]);
    await dispatcher.match([eventMessage(a.orgId, { id, at: new Date(Date.now() - 3_600_000) })]);
    await dispatcher.match([eventMessage(b.orgId, { id })]);
    expect([
      (await dispatcher.deliveriesOf(hookOfA.id)).length,
      (await dispatcher.deliveriesOf(hookOfB.id)).length,
    ]).toEqual([1, 1]);
    const [ofA] = await dispatcher.deliveriesOf(hookOfA.id);
    const [ofB] = await dispatcher.deliveriesOf(hookOfB.id);
    expect(ofA?.id).not.toBe(ofB?.id);
  });

  it("is dead-lettered when it cannot be parsed, and its neighbours are processed; one of an unknown type is skipped", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const hook = await dispatcher.webhook(admin, receiver);
    const good = eventMessage(orgId);
    const broken = { ...eventMessage(orgId), body: Buffer.from([0xff, 0xff]) };
    const disguised = { ...eventMessage(orgId), subject: `events.tenancy.${uuidv7()}.device.online` };
    const list = eventMessage(orgId, { data: [1] });
    const unknown = eventMessage(orgId, { type: "moon.landed" });
    const test = eventMessage(orgId, { type: "webhook.test" });
    await dispatcher.match([broken, good, disguised, list, unknown, test]);
    expect(await dispatcher.deliveriesOf(hook.id)).toMatchObject([{ event_id: good.msgId.split("/")[1] }]);
    const letters = await dispatcher.rows<{ msg_id: string }>(
      "SELECT msg_id FROM dead_letter WHERE msg_id = ANY ($1)",
      [[broken.msgId, disguised.msgId, list.msgId, unknown.msgId, test.msgId]],
    );
    expect(letters.map((letter) => letter.msg_id).sort()).toEqual([broken.msgId, disguised.msgId, list.msgId].sort());
  });

  it.each([
    ["device-logs", "device.online"],
    ["identity", "device.online"],
    ["identity", "alert.triggered"],
    ["tenancy", "user.login"],
    ["tenancy", "script.completed"],
    ["gateway", "device.online"],
    ["stranger", "device.online"],
    ["", "device.online"],
  ])("under the name of %s, which may not emit %s, is a dead letter and makes no delivery", async (emitter, type) => {
    const { orgId, admin } = await dispatcher.organization();
    const hook = await dispatcher.webhook(admin, receiver);
    const forged = eventMessage(orgId, { emitter, type });
    await dispatcher.match([forged]);
    expect(await dispatcher.deliveriesOf(hook.id)).toEqual([]);
    const letters = await dispatcher.rows("SELECT reason FROM dead_letter WHERE msg_id = $1", [forged.msgId]);
    expect(letters).toEqual([{ reason: `${emitter} may not emit events of this type` }]);
  });

  it("is clamped to the partitions when it is from the future, or older than the oldest one", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const hook = await dispatcher.webhook(admin, receiver);
    const times = [Date.now() + 86_400_000 * 30, Date.now() - 86_400_000 * 300];
    await dispatcher.match(times.map((ms) => eventMessage(orgId, { at: new Date(ms) })));
    const days = (await dispatcher.deliveriesOf(hook.id)).map((row) =>
      Math.round((Date.now() - row.created_at.getTime()) / 86_400_000),
    );
    expect(days).toEqual([7, 0]);
  });

  it("is put in the backlog beyond the first fifty of a burst, and processed round-robin", async () => {
    const [many, few] = [await dispatcher.organization(), await dispatcher.organization()];
    const busy = await dispatcher.webhook(many.admin, receiver);
    const calm = await dispatcher.webhook(few.admin, receiver);
    const burst = eventMessages(many.orgId, 130);
    await dispatcher.matchBatch([...burst, eventMessage(few.orgId)]);
    expect([await dispatcher.queuedOf(busy.id), await dispatcher.queuedOf(calm.id)]).toEqual([50, 1]);
    // Repeats are in the backlog, too: they are dropped when it is processed.
    await dispatcher.matchBatch(burst);
    await dispatcher.matchBatch([...burst.slice(100), ...burst.slice(100), ...burst.slice(50)]);
    const rounds = [];
    for (let taken = 1; taken > 0; rounds.push(taken)) taken = (await dispatcher.processBacklog()).taken;
    expect(await dispatcher.queuedOf(busy.id)).toBe(130);
    expect(Math.max(...rounds)).toBeLessThanOrEqual(250);
  });

  it("is stored once for all webhooks of its organization", async () => {
    const { orgId, admin } = await dispatcher.organization();
    for (let i = 0; i < 3; i++) await dispatcher.webhook(admin, receiver);
    await dispatcher.match([eventMessage(orgId)]);
    const payloads = await dispatcher.rows("SELECT FROM webhook_events WHERE org_id = $1", [orgId]);
    expect(payloads).toHaveLength(1);
  });
});

describe("publishing", () => {
  it("an ordered event is in the outbox before the answer; an event that is not in the catalogue is refused", async () => {
    const { orgId, admin } = await dispatcher.organization();
    await dispatcher.webhook(admin, receiver, { ordered: true });
    const { id } = await dispatcher.events(admin).publish({ type: "alert.triggered", dataJson: '{"a":1}' });
    const rows = await dispatcher.rows<{ subject: string; msg_id: string }>(
      "SELECT subject, msg_id FROM outbox WHERE msg_id = $1",
      [`${orgId}/${id}`],
    );
    expect(rows).toEqual([{ subject: `events.webhook-dispatcher.${orgId}.alert.triggered`, msg_id: `${orgId}/${id}` }]);
    const codes = await Promise.all(
      [
        { type: "webhook.test" },
        { type: "moon.landed" },
        { type: "alert.triggered", dataJson: "[]" },
        { type: "alert.triggered", id: "1" },
        { type: "alert.triggered", orgId: uuidv7() },
      ].map(async (request) => (await outcome(dispatcher.events(admin).publish(request))).split(" ")[0]),
    );
    expect(codes).toEqual([
      "unknown_event_type",
      "unknown_event_type",
      "validation_failed",
      "validation_failed",
      "organization_not_found",
    ]);
  });
});
