import { fromBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { type Caller, type PortalCapability, portalCapabilities, uuidv7 } from "@muster/kit";
import { AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { callers, outcome } from "@muster/testing";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher, receiver } = ownDispatcher();

const tables = [
  "webhooks",
  "webhook_endpoint_state",
  "webhook_organizations",
  "webhook_events",
  "webhook_deliveries",
  "webhook_queue",
  "webhook_attempts",
  "webhook_dead_letters",
  "webhook_replays",
];

const ownType = "custom.order";

/** An organization with a webhook, a delivery and an event type of its own, and a portal session of it. */
async function portalOf(capabilities: readonly PortalCapability[]) {
  const { orgId, partnerId, admin } = await dispatcher.organization();
  await dispatcher.eventTypes(admin).createEventType({ type: ownType, fields: { description: "An order." } });
  const webhook = await dispatcher.webhook(admin, receiver, { secret: "s3cret of the receiver" });
  const { delivery } = await dispatcher.deliveries(admin).testWebhook({ webhookId: webhook.id });
  return {
    orgId,
    admin,
    webhook,
    deliveryId: delivery?.id ?? "",
    portal: callers.portal(partnerId, orgId, capabilities),
  };
}

/** Rows of the tables that nothing else fills here. */
async function fill(admin: Caller, webhookId: string, deliveryId: string) {
  await dispatcher.replays(admin).startReplay({ webhookId, since: { seconds: 0n } });
  const from = "FROM webhook_deliveries WHERE id = $1";
  await dispatcher.change(
    `INSERT INTO webhook_attempts (delivery_id, created_at, number, org_id, partner_id, started_at)
     SELECT id, created_at, 1, org_id, partner_id, now() ${from}`,
    [deliveryId],
  );
  await dispatcher.change(
    `INSERT INTO webhook_dead_letters
       (id, org_id, partner_id, webhook_id, delivery_id, delivery_created_at, event, event_id, reason, attempts, created_at)
     SELECT gen_random_uuid(), org_id, partner_id, webhook_id, id, created_at, event, event_id, 'a test', 6, now() ${from}`,
    [deliveryId],
  );
}

/** Calls of each capability, and the ones that every session may make. */
const calls = (by: Caller, webhookId: string, id: string) => ({
  view: [
    dispatcher.webhooks(by).listWebhooks({}),
    dispatcher.webhooks(by).getWebhook({ id: webhookId }),
    dispatcher.deliveries(by).listDeliveries({ webhookId }),
    dispatcher.deliveries(by).getDelivery({ webhookId, id }),
    dispatcher.deliveries(by).countDeliveries({ webhookId, hours: 24 }),
    dispatcher.deliveries(by).listDeadLetters({}),
    dispatcher.replays(by).listReplays({ webhookId }),
    dispatcher.eventTypes(by).listEventTypes({}),
  ],
  manage_webhooks: [
    dispatcher.webhooks(by).createWebhook({ name: "B", url: dispatcher.urlOf(receiver), events: [ownType] }),
    dispatcher.webhooks(by).updateWebhook({ id: webhookId, updateMask: { paths: ["name"] }, change: { name: "C" } }),
  ],
  rotate_secrets: [dispatcher.webhooks(by).rotateWebhookSecret({ id: webhookId })],
  reveal_secrets: [dispatcher.webhooks(by).revealWebhookSecret({ id: webhookId })],
  resend_deliveries: [
    dispatcher.deliveries(by).testWebhook({ webhookId }),
    dispatcher.replays(by).startReplay({ webhookId, since: { seconds: 0n } }),
  ],
});

const codesOf = async (made: readonly Promise<unknown>[]) => {
  const outcomes = await Promise.all(made.map((call) => outcome(call)));
  return [...new Set(outcomes)];
};

describe("a portal session", () => {
  it.each([[[]], ...portalCapabilities.map((each) => [[each]] as const)])(
    "with the capabilities %j makes their calls and those that show, and finds no other",
    async (capabilities: readonly PortalCapability[]) => {
      const { webhook, deliveryId, portal } = await portalOf(capabilities);
      for (const [needed, made] of Object.entries(calls(portal, webhook.id, deliveryId))) {
        const isOpen = needed === "view" || capabilities.some((each) => each === needed);
        expect([needed, await codesOf(made)]).toEqual([needed, [isOpen ? "ok" : "not_found"]]);
      }
      expect(await outcome(dispatcher.events(portal).listEvents({}))).toBe("not_found");
      expect(await outcome(dispatcher.pushes(portal).checkUrl({ url: "https://example.com" }))).toBe("not_found");
    },
  );

  it("deletes a webhook that it may manage, and reaches none of another organization", async () => {
    const own = await portalOf(portalCapabilities);
    const other = await portalOf([]);
    for (const made of Object.values(calls(own.portal, other.webhook.id, other.deliveryId))) {
      const codes = await codesOf(made);
      expect(codes.filter((code) => code !== "ok" && code !== "webhook_not_found")).toEqual([]);
    }
    const listed = await dispatcher.webhooks(own.portal).listWebhooks({ everywhere: true });
    expect(listed.webhooks.every(({ orgId }) => orgId === own.orgId)).toBe(true);
    expect(await outcome(dispatcher.webhooks(own.portal).listWebhooks({ orgId: other.orgId }))).toBe(
      "organization_not_found",
    );
    expect(await outcome(dispatcher.webhooks(own.portal).deleteWebhook({ id: other.webhook.id }))).toBe(
      "webhook_not_found",
    );
    expect(await outcome(dispatcher.webhooks(own.portal).deleteWebhook({ id: own.webhook.id }))).toBe("ok");
  });

  it("reads its organization's event types, subscribes to them, and changes none", async () => {
    const { admin: outsider } = await dispatcher.organization();
    await dispatcher.eventTypes(outsider).createEventType({ type: "custom.theirs", fields: { description: "A." } });
    const { portal, orgId } = await portalOf(portalCapabilities);
    const { eventTypes } = await dispatcher.eventTypes(portal).listEventTypes({});
    expect(eventTypes.map(({ type }) => type)).toEqual([ownType]);
    const wanted = { name: "B", url: dispatcher.urlOf(receiver), events: [ownType, "custom.theirs"] };
    expect(await outcome(dispatcher.webhooks(portal).createWebhook(wanted))).toBe("unknown_event_type");
    const change = { type: ownType, updateMask: { paths: ["archived"] }, change: { archived: true } };
    expect(await outcome(dispatcher.eventTypes(portal).updateEventType(change))).toBe("not_found");
    const { db } = dispatcher.database;
    const rows = (text: string, values: unknown[] = []) => db.read({ caller: portal }, { text, values });
    expect(await rows("SELECT FROM webhook_event_types WHERE org_id <> $1", [orgId])).toEqual([]);
    const touch = { text: "UPDATE webhook_event_types SET org_id = org_id", values: [] };
    expect(await db.tx({ caller: portal }, (tx) => tx.execute(touch))).toBe(0);
  });

  it("leaves audit rows of the system by the link's name, with the link and its author", async () => {
    const { webhook, portal } = await portalOf(["reveal_secrets"]);
    expect(await dispatcher.webhooks(portal).revealWebhookSecret({ id: webhook.id })).toMatchObject({
      secret: "s3cret of the receiver",
    });
    const rows = await dispatcher.rows<{ body: Buffer }>(
      "SELECT body FROM outbox WHERE subject LIKE 'audit.%' ORDER BY id",
    );
    const event = rows.map(({ body }) => fromBinary(AuditEventSchema, body)).find((e) => e.actorId === portal.actor.id);
    expect(event).toMatchObject({ action: "webhook.reveal_secret", actorType: "system", actorName: "portal: Test" });
    const { linkId, author } = portal.portal ?? {};
    expect(JSON.parse(event?.detailsJson ?? "")).toEqual({
      hasSecret: true,
      via: { type: "portal_link", id: linkId, author },
    });
    expect(event?.detailsJson).not.toContain("s3cret");
  });
});

describe("a webhook's secret", () => {
  it("is revealed to users with a second factor, and never to an API key", async () => {
    const { admin, webhook } = await portalOf([]);
    const reveal = (by: Caller) => outcome(dispatcher.webhooks(by).revealWebhookSecret({ id: webhook.id }));
    expect(await reveal(admin)).toBe("mfa_required");
    expect(await reveal({ ...admin, mfaAt: new Date() })).toBe("ok");
    const actor = { ...admin.actor, type: "api_key" as const };
    expect(await reveal({ ...admin, actor, mfaAt: new Date() })).toBe("user_session_required");
    expect(await reveal({ ...admin, mfaAt: new Date(), permissions: ["webhooks:read"] })).toBe("permission_denied");
  });
});

describe("row-level security", () => {
  it.each(tables)(
    "shows a portal session the rows of %s of its organization alone, to read or to write",
    async (table) => {
      const { portal, orgId, admin, webhook, deliveryId } = await portalOf(portalCapabilities);
      await fill(admin, webhook.id, deliveryId);
      const readOnly = {
        ...portal,
        portal: { linkId: portal.actor.id, capabilities: [], author: { type: "user", id: uuidv7(), name: null } },
      } satisfies Caller;
      const foreign = { text: `SELECT FROM ${table} WHERE org_id <> $1`, values: [orgId] };
      const { db } = dispatcher.database;
      expect(await db.read({ caller: portal }, foreign)).toEqual([]);
      expect(await db.read({ caller: readOnly }, foreign)).toEqual([]);
      const touch = { text: `UPDATE ${table} SET org_id = org_id`, values: [] };
      const own = await dispatcher.rows(`SELECT FROM ${table} WHERE org_id = $1`, [orgId]);
      expect(own.length).toBeGreaterThan(0);
      expect(await db.tx({ caller: portal }, (tx) => tx.execute(touch))).toBe(own.length);
      expect(await db.tx({ caller: readOnly }, (tx) => tx.execute(touch))).toBe(0);
      expect(await db.read({ caller: readOnly }, { text: `SELECT FROM ${table}`, values: [] })).toHaveLength(
        own.length,
      );
      await expect(
        db.tx({ caller: portal }, (tx) => tx.execute({ text: `UPDATE ${table} SET org_id = $1`, values: [uuidv7()] })),
      ).rejects.toThrow();
    },
  );

  it("shows it nothing where no policy names it", async () => {
    const { portal } = await portalOf(portalCapabilities);
    const others = sql`SELECT relname FROM pg_class WHERE relnamespace = 'webhook_dispatcher'::regnamespace AND relrowsecurity AND relkind = 'r' AND NOT relispartition`;
    const names = (await dispatcher.database.db.read<{ relname: string }>({ caller: portal }, others)).map(
      ({ relname }) => relname,
    );
    const closed = names.filter((name) => ![...tables, "tenant", "webhook_event_types"].includes(name));
    expect(closed.length).toBeGreaterThan(3);
    for (const name of closed) {
      expect(
        await dispatcher.database.db.read({ caller: portal }, { text: `SELECT FROM ${name}`, values: [] }),
      ).toEqual([]);
    }
  });
});
