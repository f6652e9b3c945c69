import { timestampFromDate } from "@bufbuild/protobuf/wkt";
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
    // A delivery that was not tried yet does not count as unanswered.
    [{ answer: "none" }, 1],
  ])("are narrowed by %j to %d", async (filter, expected) => {
    expect(await count(filter)).toBe(expected);
  });

  it("are narrowed by time: from an instant on, until before another", async () => {
    const { deliveries } = await dispatcher.deliveries(admin).listDeliveries({ webhookId });
    const [newest, , third] = deliveries.map(({ createdAt }) => createdAt);
    expect(await count({ from: third })).toBe(3);
    expect(await count({ from: third, to: newest })).toBe(2);
    expect(await count({ from: timestampFromDate(at(-60)) })).toBe(0);
  });

  it("are not narrowed by an invalid answer filter", async () => {
    const asked = dispatcher.deliveries(admin).listDeliveries({ webhookId, answer: "bad" });
    expect(await outcome(asked)).toBe("validation_failed answer");
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
  it("hold what the caller reaches and nothing else", async () => {
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
