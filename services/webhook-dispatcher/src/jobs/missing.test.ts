import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { type Caller, uuidv7 } from "@muster/kit";
import { outcome, until } from "@muster/testing";
import { advanceReplay } from "../store/replays.ts";
import { eventMessage, eventMessages } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher, receiver } = ownDispatcher();

const since = timestampFromDate(new Date(Date.now() - 3_600_000));
const missing = { since, status: "missing" };

/** An organization with one webhook, in the given state. */
async function tenant(change: object = {}, status = "active") {
  const organization = await dispatcher.organization();
  const { admin } = organization;
  const { id: webhookId } = await dispatcher.webhook(admin, receiver, change);
  const setStatus = (next: string) =>
    dispatcher
      .webhooks(admin)
      .updateWebhook({ id: webhookId, updateMask: { paths: ["status"] }, change: { status: next } });
  if (status !== "active") await setStatus(status);
  return { ...organization, webhookId, setStatus };
}

const storedOf = async (orgId: string) =>
  (await dispatcher.rows<{ id: string }>("SELECT id FROM webhook_events WHERE org_id = $1 AND listed", [orgId])).map(
    ({ id }) => id,
  );
const counted = async (admin: Caller, webhookId: string, change: object = {}) =>
  Number((await dispatcher.replays(admin).countReplay({ webhookId, ...missing, ...change })).count);

/** Runs a replay of what is missing; returns the number of queued events. */
async function replayed(admin: Caller, webhookId: string, change: object = {}) {
  const { replay } = await dispatcher.replays(admin).startReplay({ webhookId, ...missing, ...change });
  const id = replay?.id ?? "";
  const [replayer, sender] = [dispatcher.replayer(), dispatcher.sender()];
  const end = await until("the replay to end", async () => {
    const { replay: now } = await dispatcher.replays(admin).getReplay({ webhookId, id });
    return now?.state === "done" ? now : null;
  });
  await sender.stop();
  await replayer.stop();
  return Number(end.queued);
}

describe("an event without a subscriber", () => {
  it.each<[string, (orgId: string, admin: Caller) => Promise<string[]>]>([
    [
      "posted",
      async (_orgId, admin) => {
        const publish = () => dispatcher.events(admin).publish({ type: "patch.failed", dataJson: '{"n":1}' });
        return [(await publish()).id, (await publish()).id];
      },
    ],
    [
      "of a small batch of the stream",
      async (orgId) => {
        const id = uuidv7();
        await dispatcher.matchBatch([eventMessage(orgId, { id })]);
        return [id];
      },
    ],
    [
      "of a burst of the stream",
      async (orgId) => {
        await dispatcher.match(eventMessages(orgId, 120));
        return Array(120).fill("");
      },
    ],
  ])("is stored for an organization with a webhook: %s", async (_path, emit) => {
    for (const isSending of [false, true]) {
      const { orgId, admin } = await tenant({}, "paused");
      const sender = isSending ? dispatcher.sender() : null;
      const ids = await emit(orgId, admin);
      await sender?.stop();
      const stored = await storedOf(orgId);
      expect(stored).toHaveLength(ids.length);
      for (const id of ids.filter((each) => each !== "")) expect(stored).toContain(id);
    }
  });

  it("is stored after the last webhook was deleted, and not before the first was made", async () => {
    const { orgId, admin } = await dispatcher.organization();
    await dispatcher.match([eventMessage(orgId)]);
    await dispatcher.events(admin).publish({ type: "patch.failed" });
    expect(await storedOf(orgId)).toEqual([]);
    const sender = dispatcher.sender();
    await dispatcher.events(admin).publish({ type: "patch.failed" });
    const { id } = await dispatcher.webhook(admin, receiver);
    await dispatcher.webhooks(admin).deleteWebhook({ id });
    await dispatcher.events(admin).publish({ type: "patch.failed" });
    await sender.stop();
    expect(await storedOf(orgId)).toHaveLength(1);
  });
});

describe("a replay of what is missing", () => {
  it("brings the events of a pause, each once, and then nothing more", async () => {
    const { orgId, admin, webhookId, setStatus } = await tenant({ events: ["device.online"] });
    const sender = dispatcher.sender();
    const seen = uuidv7();
    await dispatcher.match([eventMessage(orgId, { id: seen })]);
    await until("the delivery", () => receiver.of(seen).length === 1);
    await sender.stop();
    await setStatus("paused");
    const ids = [uuidv7(), uuidv7()];
    await dispatcher.match(ids.map((id) => eventMessage(orgId, { id, data: { id } })));
    await dispatcher.match([eventMessage(orgId, { type: "device.offline" })]);
    await setStatus("active");
    expect(await counted(admin, webhookId)).toBe(2);
    expect(await counted(admin, webhookId, { events: ["device.offline"] })).toBe(0);
    expect(await replayed(admin, webhookId)).toBe(2);
    for (const id of ids) {
      expect(receiver.of(id).map(({ body }) => JSON.parse(body).data)).toEqual([{ id }]);
    }
    expect(receiver.of(seen)).toHaveLength(1);
    expect(await counted(admin, webhookId)).toBe(0);
    expect(await replayed(admin, webhookId)).toBe(0);
  }, 60_000);

  it("brings a new webhook the events from before it existed", async () => {
    const { orgId, admin } = await tenant({ events: ["device.offline"] });
    const id = uuidv7();
    await dispatcher.match([eventMessage(orgId, { id })]);
    const { id: webhookId } = await dispatcher.webhook(admin, receiver);
    expect(await replayed(admin, webhookId)).toBe(1);
    expect(receiver.of(id)).toHaveLength(1);
  }, 30_000);

  it("queues each event once when a process is killed within a step", async () => {
    const { orgId, admin, webhookId, setStatus } = await tenant({}, "paused");
    const ids = Array.from({ length: 7 }, () => uuidv7());
    await dispatcher.match(ids.map((id) => eventMessage(orgId, { id })));
    await setStatus("active");
    const { replay } = await dispatcher.replays(admin).startReplay({ webhookId, ...missing });
    const limits = { window: 4, chunk: 3, everyMs: 1 };
    const killed = dispatcher.maintenance(async (tx) => {
      await advanceReplay(tx, limits);
      throw new Error("killed");
    });
    await expect(killed).rejects.toThrow();
    expect(await dispatcher.deliveriesOf(webhookId)).toEqual([]);
    const [replayer, sender] = [dispatcher.replayer(limits), dispatcher.sender()];
    const of = { webhookId, id: replay?.id ?? "" };
    await until("the end", async () => (await dispatcher.replays(admin).getReplay(of)).replay?.state === "done");
    await sender.stop();
    await replayer.stop();
    for (const id of ids) expect(receiver.of(id)).toHaveLength(1);
  }, 30_000);

  it("is counted for whoever reads deliveries, with every refusal of a replay", async () => {
    const { admin, webhookId } = await tenant();
    const { admin: other } = await dispatcher.organization();
    const count = (by: Caller, change: object) =>
      outcome(dispatcher.replays(by).countReplay({ webhookId, ...missing, ...change }));
    expect(await count(other, {})).toBe("webhook_not_found");
    expect(await count(admin, { status: "gone" })).toBe("validation_failed deliveryStatus");
    expect(await count(admin, { since: undefined })).toBe("validation_failed since");
    expect(await count(admin, { events: ["nothing"] })).toBe("unknown_event_type");
  });
});
