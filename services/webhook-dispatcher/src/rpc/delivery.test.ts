import { type Timestamp, timestampFromDate, timestampMs } from "@bufbuild/protobuf/wkt";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { type Caller, uuidv7 } from "@muster/kit";
import { asOwner, callers, outcome } from "@muster/testing";
import { ownDispatcher } from "../testing/own-dispatcher.ts";

const { dispatcher, receiver } = ownDispatcher();

let admin: Caller;
let webhookId: string;
const inserted = (text: string, values: unknown[]) =>
  asOwner(dispatcher.database, async (client) => void (await client.query(text, values)));
const at = (secondsAgo: number) => new Date(Date.now() - secondsAgo * 1_000);
/** A dead letter for each failed delivery, a queue row for each that is open, as they are stored together. */
async function keepUndelivered(ofWebhook: string) {
  await inserted(
    `INSERT INTO webhook_dead_letters (id, org_id, partner_id, webhook_id, delivery_id, delivery_created_at, event, event_id,
                                       reason, attempts, created_at)
     SELECT gen_random_uuid(), org_id, partner_id, webhook_id, id, created_at, event, event_id, 'x', attempt, now()
     FROM webhook_deliveries WHERE webhook_id = $1 AND status = 'failed'`,
    [ofWebhook],
  );
  await inserted(
    `INSERT INTO webhook_queue (delivery_id, created_at, webhook_id, org_id, partner_id, event_id, due_at)
     SELECT id, created_at, webhook_id, org_id, partner_id, event_id, now() + interval '1 day'
     FROM webhook_deliveries WHERE webhook_id = $1 AND status IN ('pending', 'retrying')`,
    [ofWebhook],
  );
}
beforeAll(async () => {
  ({ admin } = await dispatcher.organization());
  webhookId = (await dispatcher.webhook(admin, receiver)).id;
  const made: [string, string, number | null, number][] = [
    ["device.online", "delivered", 204, 1],
    ["device.offline", "failed", 503, 6],
    ["device.offline", "failed", 404, 6],
    ["device.online", "failed", null, 6],
    ["device.online", "pending", null, 0],
  ];
  for (const [n, [event, status, answer, attempt]] of made.entries()) {
    await inserted(
      `INSERT INTO webhook_deliveries (id, created_at, webhook_id, org_id, partner_id, event_id, event, status, attempt,
                                       response_status)
       VALUES ($1, $2, $3, $4, $5, $1, $6, $7, $8, $9)`,
      [uuidv7(), at(n), webhookId, admin.orgId, admin.partnerId, event, status, attempt, answer],
    );
  }
  await keepUndelivered(webhookId);
});

describe("deliveries of a webhook", () => {
  const count = async (filter: object) =>
    (await dispatcher.deliveries(admin).listDeliveries({ webhookId, ...filter })).deliveries.length;

  it.each<[object, number]>([
    [{}, 5],
    [{ event: "device.offline" }, 2],
    [{ event: "device" }, 0],
    [{ answer: "503" }, 1],
    [{ answer: "5xx" }, 1],
    [{ answer: "4xx", status: "failed" }, 1],
    [{ answer: "2xx", event: "device.offline" }, 0],
    // A delivery without an attempt does not count as unanswered.
    [{ answer: "none" }, 1],
  ])("are narrowed by %j to %d", async (filter, expected) => {
    expect(await count(filter)).toBe(expected);
  });

  it.each([100, 11_000])("are pages of the same list when filtered by failed, with %d of them", async (failures) => {
    const { admin: reader } = await dispatcher.organization();
    const { id } = await dispatcher.webhook(reader, receiver);
    await inserted(
      `INSERT INTO webhook_deliveries (id, created_at, webhook_id, org_id, partner_id, event_id, event, status, attempt,
                                       response_status)
       SELECT gen_random_uuid(), $2::timestamptz - n * interval '1 millisecond', $1, $3, $4, gen_random_uuid(),
              'device.online', s, 1, CASE s WHEN 'failed' THEN 503 ELSE 204 END
       FROM generate_series(1, $5::int) n, unnest(ARRAY['failed', 'delivered']) s`,
      [id, at(0), reader.orgId, reader.partnerId, failures],
    );
    await keepUndelivered(id);
    const filter = { webhookId: id, answer: "5xx" };
    const read = (page: object) =>
      dispatcher.deliveries(reader).listDeliveries({ ...filter, page: { limit: 30, ...page } });
    const first = await read({});
    const second = await read({ cursor: first.page?.nextCursor });
    expect(first.page?.total).toBe(BigInt(failures));
    const seen = [...first.deliveries, ...second.deliveries];
    expect(seen.map(({ status }) => status)).toEqual(Array(60).fill("failed"));
    const times = seen.map(({ createdAt }) => timestampMs(createdAt as Timestamp));
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    expect(new Set(seen.map((each) => each.id)).size).toBe(60);
  });

  it("are narrowed by time: from an instant on, until before another", async () => {
    const { deliveries } = await dispatcher.deliveries(admin).listDeliveries({ webhookId });
    const [newest, , third] = deliveries.map(({ createdAt }) => createdAt);
    expect(await count({ from: third })).toBe(3);
    expect(await count({ from: third, to: newest })).toBe(2);
    expect(await count({ from: timestampFromDate(at(-60)) })).toBe(0);
  });

  it("are not narrowed by an invalid answer filter", async () => {
    const listing = dispatcher.deliveries(admin).listDeliveries({ webhookId, answer: "bad" });
    expect(await outcome(listing)).toBe("validation_failed answer");
  });

  it("are counted by how they ended, in every bucket of the time", async () => {
    const { bucketSeconds, buckets, countedFrom } = await dispatcher
      .deliveries(admin)
      .countDeliveries({ webhookId, hours: 24 });
    expect([bucketSeconds, buckets.length, countedFrom]).toEqual([3_600, 24, undefined]);
    const sum = (of: "delivered" | "failed" | "open") => buckets.reduce((all, each) => all + each[of], 0n);
    expect([sum("delivered"), sum("failed"), sum("open")]).toEqual([1n, 3n, 1n]);
    const refused = dispatcher.deliveries(admin).countDeliveries({ webhookId, hours: 169 });
    expect(await outcome(refused)).toBe("validation_failed hours");
    const { admin: other } = await dispatcher.organization();
    expect(await outcome(dispatcher.deliveries(other).countDeliveries({ webhookId, hours: 1 }))).toBe(
      "webhook_not_found",
    );
  });
});

describe("lists over all organizations", () => {
  it("contain exactly the caller's access scope", async () => {
    const { admin } = await dispatcher.organization();
    const webhookId = (await dispatcher.webhook(admin, receiver)).id;
    const { admin: other } = await dispatcher.organization();
    const otherId = (await dispatcher.webhook(other, receiver)).id;
    const permissions = admin.permissions;
    const partnerOf = (of: Caller) => callers.partnerAdmin(of.partnerId ?? "", { permissions: [...permissions] });
    const listed = async (by: Caller) =>
      (await dispatcher.webhooks(by).listWebhooks({ everywhere: true })).webhooks.map(({ id }) => id);
    expect(await listed(partnerOf(admin))).toEqual([webhookId]);
    expect(await listed(partnerOf(other))).toEqual([otherId]);
    expect(await listed(admin)).toEqual([webhookId]);
    expect(await listed(callers.partnerWithList(admin.partnerId ?? "", [], { permissions: [...permissions] }))).toEqual(
      [],
    );
    const letterId = uuidv7();
    await inserted(
      `INSERT INTO webhook_dead_letters (id, org_id, partner_id, webhook_id, delivery_id, delivery_created_at, event,
                                         event_id, reason, attempts, created_at)
       VALUES ($1, $2, $3, $4, $1, now(), 'device.online', $1, 'a test', 6, now())`,
      [letterId, admin.orgId, admin.partnerId, webhookId],
    );
    const letters = async (by: Caller, filter = {}) =>
      (await dispatcher.deliveries(by).listDeadLetters(filter)).deadLetters.map(({ id }) => id);
    expect(await letters(partnerOf(admin))).toEqual([letterId]);
    expect(await letters(partnerOf(admin), { webhookId })).toEqual([letterId]);
    expect(await letters(partnerOf(other))).toEqual([]);
    expect(await outcome(dispatcher.deliveries(partnerOf(other)).listDeadLetters({ webhookId }))).toBe(
      "webhook_not_found",
    );
  });
});
