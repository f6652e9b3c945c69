import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { type Caller, uuidv7 } from "@muster/kit";
import { callers, outcome, until } from "@muster/testing";
import { eventMessage } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher, receiver } = ownDispatcher();

const hourMs = 3_600_000;
const ago = (hours: number) => new Date(Date.now() - hours * hourMs);

/** An organization with a webhook and one delivered event. */
async function delivered() {
  const { orgId, partnerId, admin } = await dispatcher.organization();
  const webhook = await dispatcher.webhook(admin, receiver, { headers: [{ key: "X-Own", value: "hidden" }] });
  const eventId = uuidv7();
  await dispatcher.match([eventMessage(orgId, { id: eventId, type: "device.offline", data: { n: 7 } })]);
  const sender = dispatcher.sender();
  const [delivery] = await until("the delivery", async () => {
    const rows = await dispatcher.deliveriesOf(webhook.id);
    return rows[0]?.status === "delivered" ? rows : null;
  });
  if (!delivery) throw new Error("nothing was delivered");
  return { orgId, partnerId, admin, webhookId: webhook.id, eventId, deliveryId: delivery.id, sender };
}

const resend = (by: Caller, webhookId: string, id: string) =>
  dispatcher.deliveries(by).resendDelivery({ webhookId, id });

describe("an organization's events", () => {
  it("are listed newest first, by page and by filter, without tests and copies", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const { id: webhookId } = await dispatcher.webhook(admin, receiver);
    const ids = [uuidv7(), uuidv7(), uuidv7()];
    const types = ["device.offline", "device.offline", "device.online"];
    await dispatcher.match(ids.map((id, n) => eventMessage(orgId, { id, type: types[n] ?? "", at: ago(3 - n) })));
    await dispatcher.deliveries(admin).testWebhook({ webhookId });
    const listed = async (filter: object) =>
      (await dispatcher.events(admin).listEvents(filter)).events.map((e) => e.id);
    const [first, second, third] = ids;
    expect(await listed({})).toEqual([third, second, first]);
    expect(await listed({ type: "device.offline" })).toEqual([second, first]);
    expect(await listed({ id: second })).toEqual([second]);
    expect(await listed({ id: uuidv7() })).toEqual([]);
    expect(await listed({ from: timestampFromDate(ago(2.5)), to: timestampFromDate(ago(1.5)) })).toEqual([second]);
    const page = await dispatcher.events(admin).listEvents({ page: { limit: 2 } });
    expect(page.events.map((e) => e.id)).toEqual([third, second]);
    expect(await listed({ page: { limit: 2, cursor: page.page?.nextCursor } })).toEqual([first]);
    expect(await outcome(dispatcher.events(admin).listEvents({ id: "x" }))).toBe("validation_failed id");
  });

  it("are found by id by whoever reaches the organization, and by nobody else", async () => {
    const { orgId, partnerId, admin, eventId, webhookId, deliveryId } = await delivered();
    const permissions = [...admin.permissions];
    const partner = callers.partnerAdmin(partnerId, { permissions });
    for (const reader of [admin, partner]) {
      const { event, deliveries } = await dispatcher.events(reader).getEvent({ id: eventId });
      expect(event).toMatchObject({
        id: eventId,
        orgId,
        type: "device.offline",
        dataJson: '{"n":7}',
        source: "platform",
      });
      expect(deliveries.map((each) => [each.id, each.webhookId, each.origin])).toEqual([
        [deliveryId, webhookId, "event"],
      ]);
    }
    const { admin: other } = await dispatcher.organization();
    const none = callers.partnerWithList(partnerId, [], { permissions });
    for (const outsider of [other, none, callers.partnerAdmin(uuidv7(), { permissions })]) {
      expect(await outcome(dispatcher.events(outsider).getEvent({ id: eventId }))).toBe("event_not_found");
      expect(await outcome(dispatcher.events(outsider).getEvent({ id: eventId, orgId }))).toBe(
        "organization_not_found",
      );
      expect(await outcome(dispatcher.events(outsider).listEventDeliveries({ id: eventId }))).toBe("event_not_found");
    }
    expect(await outcome(dispatcher.events(admin).getEvent({ id: "x" }))).toBe("event_not_found");
  });

  it("with one id in two organizations are distinguished by the organization", async () => {
    const { orgId, partnerId, admin } = await dispatcher.organization();
    const second = await dispatcher.organization(partnerId);
    const id = uuidv7();
    for (const [org, by] of [[orgId, admin] as const, [second.orgId, second.admin] as const]) {
      await dispatcher.webhook(by, receiver);
      await dispatcher.match([eventMessage(org, { id })]);
    }
    const partner = callers.partnerAdmin(partnerId, { permissions: [...admin.permissions] });
    expect(await outcome(dispatcher.events(partner).getEvent({ id }))).toBe("organization_context_required");
    expect((await dispatcher.events(partner).getEvent({ id, orgId: second.orgId })).event?.orgId).toBe(second.orgId);
    expect((await dispatcher.events(admin).getEvent({ id })).event?.orgId).toBe(orgId);
  });
});

describe("a delivery that is sent again", () => {
  it("has a new id and the webhook-id of the first, and the event lists both", async () => {
    const { admin, webhookId, eventId, deliveryId, sender } = await delivered();
    const { delivery } = await resend(admin, webhookId, deliveryId);
    expect(delivery).toMatchObject({ status: "pending", origin: "resend", repeats: deliveryId, eventId });
    const [first, again] = await until("the second request", () => {
      const requests = receiver.of(eventId);
      return requests.length === 2 ? requests : null;
    });
    await sender.stop();
    expect(again?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
    expect(again?.headers["x-service-delivery-id"]).toBe(delivery?.id);
    expect(again?.body).toBe(first?.body);
    const wanted = [delivery?.id, deliveryId];
    const idsOf = ({ deliveries }: { deliveries: { id: string }[] }) => deliveries.map(({ id }) => id);
    expect(idsOf(await dispatcher.events(admin).getEvent({ id: eventId }))).toEqual(wanted);
    expect(idsOf(await dispatcher.events(admin).listEventDeliveries({ id: eventId }))).toEqual(wanted);
    expect(idsOf(await dispatcher.deliveries(admin).listDeliveries({ webhookId, eventId }))).toEqual(wanted);
    expect(idsOf(await dispatcher.deliveries(admin).listDeliveries({ webhookId, eventId: uuidv7() }))).toEqual([]);
    const { events } = await dispatcher.events(admin).listEvents({});
    expect(idsOf({ deliveries: events })).toEqual([eventId]);
    const audited = await dispatcher.rows(
      "SELECT FROM outbox WHERE subject LIKE 'audit.%' AND encode(body, 'escape') LIKE '%webhook.resend%' || $1 || '%'",
      [deliveryId],
    );
    expect(audited).toHaveLength(1);
  });

  it("shows the headers of its request, those of the webhook masked", async () => {
    const { admin, webhookId, deliveryId, sender } = await delivered();
    await sender.stop();
    const { attempts } = await dispatcher.deliveries(admin).getDelivery({ webhookId, id: deliveryId });
    const headers = JSON.parse(attempts[0]?.requestHeadersJson ?? "{}") as Record<string, string>;
    expect(headers["X-Own"]).toBe("***");
    expect(headers["X-Service-Delivery-Id"]).toBe(deliveryId);
  });

  it("is refused while it is pending, and where the caller has no access", async () => {
    const { orgId, admin } = await dispatcher.organization();
    const { id: webhookId } = await dispatcher.webhook(admin, receiver);
    await dispatcher.match([eventMessage(orgId)]);
    const [pending] = await dispatcher.deliveriesOf(webhookId);
    const id = pending?.id ?? "";
    expect(await outcome(resend(admin, webhookId, id))).toBe("delivery_not_ended");
    await dispatcher.change("UPDATE webhook_deliveries SET status = 'failed' WHERE id = $1", [id]);
    const { admin: other } = await dispatcher.organization();
    expect(await outcome(resend(other, webhookId, id))).toBe("webhook_not_found");
    expect(await outcome(resend(admin, webhookId, uuidv7()))).toBe("delivery_not_found");
    expect((await resend(admin, webhookId, id)).delivery?.origin).toBe("resend");
  });

  it("keeps the rule of retry: a delivered one is not retried", async () => {
    const { admin, webhookId, deliveryId, sender } = await delivered();
    await sender.stop();
    const retrying = dispatcher.deliveries(admin).retryDelivery({ webhookId, id: deliveryId });
    expect(await outcome(retrying)).toBe("delivery_not_failed");
  });
});
