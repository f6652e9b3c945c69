import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { type Caller, uuidv7 } from "@muster/kit";
import { callers, outcome, until } from "@muster/testing";
import { eventMessage } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher, receiver } = ownDispatcher();

const missing = { status: "missing", since: timestampFromDate(new Date(Date.now() - 3_600_000)) };

const type = "custom.order.shipped";
const schema = { type: "object", required: ["number"], properties: { number: { type: "integer" } } };
const define = (caller: Caller, change: object = {}, name = type) =>
  dispatcher
    .eventTypes(caller)
    .createEventType({ type: name, fields: { description: "An order was sent.", ...change } });
const update = (caller: Caller, change: object, name = type) =>
  dispatcher
    .eventTypes(caller)
    .updateEventType({ type: name, updateMask: { paths: Object.keys(change) }, change: fieldsOf(change) });
const fieldsOf = ({ schema: s, example: e, ...rest }: { schema?: object | null; example?: object }) => ({
  ...rest,
  ...(s ? { schemaJson: JSON.stringify(s) } : {}),
  ...(e ? { exampleJson: JSON.stringify(e) } : {}),
});
const withSchema = (value: object, example?: object) => fieldsOf({ schema: value, ...(example ? { example } : {}) });
const post = (caller: Caller, data: object, name = type) =>
  dispatcher.events(caller).publish({ type: name, dataJson: JSON.stringify(data) });

describe("an organization's own event type", () => {
  it("is posted, validated and delivered, to webhooks of its name, of a pattern and of all", async () => {
    const { admin } = await dispatcher.organization();
    await define(admin, withSchema(schema, { number: 1 }));
    const subscriptions = [[type], ["custom.*"], ["custom.order.*"], ["*"], ["device.*"]];
    const webhooks = [];
    for (const events of subscriptions) webhooks.push(await dispatcher.webhook(admin, receiver, { events }));
    const { id } = await post(admin, { number: 7 });
    expect(await outcome(post(admin, { number: "7" }))).toBe("validation_failed data.number");
    expect(await outcome(post(admin, {}))).toBe("validation_failed data.number");
    const sender = dispatcher.sender();
    await until("four requests", () => receiver.of(id).length === 4);
    await sender.stop();
    const counts = await Promise.all(
      webhooks.map(async ({ id: hook }) => (await dispatcher.deliveriesOf(hook)).length),
    );
    expect(counts).toEqual([1, 1, 1, 1, 0]);
  }, 60_000);

  it("is unknown before, to other organizations, and once it is archived", async () => {
    const { admin, partnerId } = await dispatcher.organization();
    const other = await dispatcher.organization(partnerId);
    expect(await outcome(post(admin, {}))).toBe("unknown_event_type");
    expect(await outcome(dispatcher.webhook(admin, receiver, { events: [type] }))).toBe("unknown_event_type");
    await define(admin);
    expect(await outcome(post(admin, {}))).toBe("ok");
    expect(await outcome(post(other.admin, {}))).toBe("unknown_event_type");
    expect(await outcome(dispatcher.webhook(other.admin, receiver, { events: [type] }))).toBe("unknown_event_type");
    await update(admin, { archived: true });
    expect(await outcome(post(admin, {}))).toBe("unknown_event_type");
    await update(admin, { archived: false, version: "2" });
    expect(await outcome(post(admin, {}))).toBe("ok");
    // A type of the catalogue is taken as before, whatever its data.
    expect(await outcome(post(admin, { number: "x" }, "alert.triggered"))).toBe("ok");
  });

  it("takes a new schema with the next event", async () => {
    const { admin } = await dispatcher.organization();
    await define(admin, withSchema(schema));
    expect(await outcome(post(admin, { number: 1 }))).toBe("ok");
    await update(admin, { schema: { required: ["name"] } });
    expect(await outcome(post(admin, { number: 1 }))).toBe("validation_failed data.name");
    await update(admin, { schema: null });
    expect(await outcome(post(admin, { number: "any" }))).toBe("ok");
  });

  it("keeps its events without a subscriber, from its first one on", async () => {
    const { admin, orgId } = await dispatcher.organization();
    await define(admin);
    const { id } = await post(admin, { number: 1 });
    const listed = await dispatcher.rows("SELECT FROM webhook_events WHERE org_id = $1 AND id = $2", [orgId, id]);
    expect(listed).toHaveLength(1);
    // As the stream brings it to another process.
    const streamed = uuidv7();
    await dispatcher.match([eventMessage(orgId, { id: streamed, type, emitter: "webhook-dispatcher" })]);
    const webhook = await dispatcher.webhook(admin, receiver, { events: ["custom.*"] });
    const count = await dispatcher.replays(admin).countReplay({ webhookId: webhook.id, ...missing });
    expect(Number(count.count)).toBe(2);
  });

  it.each<[string, object, string]>([
    ["a schema that is none", withSchema({ type: "nothing" }), "validation_failed schema"],
    ["an example that its schema refuses", withSchema(schema, { number: "x" }), "validation_failed example.number"],
    [
      "a schema that does not end",
      withSchema({ $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } }),
      "validation_failed schema",
    ],
    ["an example that is no object", { exampleJson: "[]" }, "validation_failed example"],
    ["no description", { description: " " }, "validation_failed description"],
    [
      "too long texts",
      { description: "x".repeat(1_001), version: "x".repeat(51) },
      "validation_failed description version",
    ],
  ])("is refused with %s", async (_, change, refused) => {
    const { admin } = await dispatcher.organization();
    expect(await outcome(define(admin, change))).toBe(refused);
  });

  it.each(["custom", "custom.", "custom.A", "order.shipped", "custom..a", `custom.${"a".repeat(100)}`, "custom.*"])(
    "is not named %s",
    async (name) => {
      const { admin } = await dispatcher.organization();
      expect(await outcome(define(admin, {}, name))).toBe("validation_failed type");
    },
  );

  it("refuses posts of a slow pattern in words and in time, and at once for a while", async () => {
    const { admin } = await dispatcher.organization();
    const [second, plain] = ["custom.second", "custom.plain"];
    await define(admin, withSchema(schema), second);
    await define(admin, {}, plain);
    await define(admin, withSchema({ properties: { a: { pattern: "^(a+)+$" } } }));
    const slow = { a: `${"a".repeat(60)}!` };
    expect(await outcome(post(admin, slow))).toBe("validation_failed data");
    const startedMs = performance.now();
    for (let n = 0; n < 20; n += 1) expect(await outcome(post(admin, slow))).toBe("validation_failed data");
    expect(performance.now() - startedMs).toBeLessThan(1_500);
    // One slow schema after the other would block as long; a type without a schema, and others, are taken.
    expect(await outcome(post(admin, { number: 1 }, second))).toBe("validation_failed data");
    expect(await outcome(post(admin, slow, plain))).toBe("ok");
    const other = await dispatcher.organization();
    await define(other.admin, withSchema(schema));
    expect(await outcome(post(other.admin, { number: 1 }))).toBe("ok");
  }, 20_000);

  it("refuses slow schemas in time, and then those of the organization unread for a while", async () => {
    const { admin } = await dispatcher.organization();
    await define(admin, {}, "custom.plain");
    const slow = withSchema({ properties: { a: { pattern: "^(a+)+$" } } }, { a: `${"a".repeat(60)}!` });
    const startedMs = performance.now();
    for (let n = 0; n < 20; n += 1) {
      expect(await outcome(define(admin, slow, `custom.slow_${n}`))).toBe("validation_failed schema");
    }
    expect(performance.now() - startedMs).toBeLessThan(1_500);
    expect(await outcome(update(admin, { schema }, "custom.plain"))).toBe("validation_failed schema");
    expect(await outcome(update(admin, { version: "2" }, "custom.plain"))).toBe("ok");
    const other = await dispatcher.organization();
    expect(await outcome(define(other.admin, withSchema(schema)))).toBe("ok");
  }, 20_000);

  it("is defined once, by who may write webhooks, and leaves audit rows", async () => {
    const { admin, orgId, partnerId } = await dispatcher.organization();
    const reader = callers.orgAdmin(partnerId, orgId, { permissions: ["webhooks:read"] });
    const other = await dispatcher.organization(partnerId);
    expect(await outcome(define(reader))).toBe("permission_denied");
    await define(admin, { version: "1" });
    expect(await outcome(define(admin))).toBe("event_type_exists");
    expect(await outcome(update(reader, { archived: true }))).toBe("permission_denied");
    expect(await outcome(update(other.admin, { archived: true }))).toBe("event_type_not_found");
    expect(await outcome(update(admin, {}))).toBe("no_updates");
    await update(admin, { description: "Sent." });
    const { eventTypes } = await dispatcher.eventTypes(reader).listEventTypes({});
    expect(eventTypes).toMatchObject([{ orgId, type, description: "Sent.", version: "1", archived: false }]);
    expect((await dispatcher.eventTypes(other.admin).listEventTypes({})).eventTypes).toEqual([]);
    expect(await outcome(dispatcher.eventTypes(other.admin).listEventTypes({ orgId }))).toBe("organization_not_found");
    for (const action of ["create", "update"]) {
      const rows = await dispatcher.rows(
        "SELECT FROM outbox WHERE subject LIKE 'audit.%' AND encode(body, 'escape') LIKE '%webhook_event_type.' || $1 || '%' AND encode(body, 'escape') LIKE '%' || $2 || '%'",
        [action, orgId],
      );
      expect([action, rows.length]).toEqual([action, 1]);
    }
  });
});

describe("a webhook's filter", () => {
  it("lets only events of its sites pass, of the stream, of posts and of replays alike", async () => {
    const { admin, orgId, partnerId } = await dispatcher.organization();
    const [site, foreign, group] = [uuidv7(), uuidv7(), uuidv7()];
    await dispatcher.change(
      "INSERT INTO tenant (kind, id, partner_id, org_id, version, status, deleted, updated_at) VALUES ('site', $1, $2, $3, 1, 'active', false, now())",
      [site, partnerId, orgId],
    );
    const filtered = (filter: object) => dispatcher.webhook(admin, receiver, { events: ["alert.*"], filter });
    const none = { groupIds: [], labels: [] };
    expect(await outcome(filtered({ ...none, siteIds: [site, foreign] }))).toBe("validation_failed filter.siteIds.1");
    const webhook = await filtered({ ...none, siteIds: [site] });
    expect(webhook.filter).toMatchObject({ siteIds: [site], groupIds: [], labels: [] });
    for (const data of [{ siteId: site }, { siteId: foreign }, {}]) {
      await post(admin, data, "alert.triggered");
      await dispatcher.match([eventMessage(orgId, { type: "alert.resolved", emitter: "webhook-dispatcher", data })]);
    }
    const deliveries = await dispatcher.rows<{ event: string }>(
      "SELECT event FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY event",
      [webhook.id],
    );
    expect(deliveries.map(({ event }) => event)).toEqual(["alert.resolved", "alert.triggered"]);
    const later = await filtered({ ...none, siteIds: [site] });
    const count = await dispatcher.replays(admin).countReplay({ webhookId: later.id, ...missing });
    expect(Number(count.count)).toBe(2);
    // Another filter counts at once, and none lets everything pass.
    const change = { id: webhook.id, updateMask: { paths: ["filter"] } };
    const wanted = { ...none, siteIds: [], groupIds: [group] };
    await dispatcher.webhooks(admin).updateWebhook({ ...change, change: { filter: wanted } });
    await post(admin, { siteId: site }, "alert.escalated");
    await post(admin, { groupIds: [group] }, "alert.escalated");
    const { webhook: cleared } = await dispatcher.webhooks(admin).updateWebhook({ ...change, change: {} });
    expect(cleared?.filter).toBeUndefined();
    await post(admin, {}, "alert.escalated");
    const delivered = (await dispatcher.deliveriesOf(webhook.id)).map(({ event }) => event).sort();
    expect(delivered).toEqual(["alert.escalated", "alert.escalated", "alert.resolved", "alert.triggered"]);
  }, 30_000);
});
