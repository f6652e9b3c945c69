import { describe, expect, it } from "@jest/globals";
import { type Database, sql } from "@muster/db";
import { type Caller, systemCaller, uuidv7 } from "@muster/kit";
import type { IntakeHook } from "../rules/intake.ts";
import { claimLock } from "../store/queue.ts";
import { webhooksOfOrganization } from "../store/webhooks.ts";
import { freeHook } from "../testing/free-hook.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { ownSenders } from "../testing/own-senders.ts";
import { createOrganizationCache, type OrganizationCache } from "./organization-cache.ts";

const { dispatcher, receiver } = ownDispatcher();
const start = ownSenders(dispatcher);
const type = "device.online";
const who = { caller: systemCaller("webhook-dispatcher") };

type Tenant = { orgId: string; admin: Caller; webhookId: string };
type Change = (tenant: Tenant) => Promise<unknown>;

const patch =
  (change: object): Change =>
  ({ admin, webhookId: id }) =>
    dispatcher.webhooks(admin).updateWebhook({ id, updateMask: { paths: Object.keys(change) }, change });
const alter =
  (text: string): Change =>
  ({ webhookId }) =>
    dispatcher.change(text, [webhookId]);

const changes: [string, Change][] = [
  ["nothing", async () => undefined],
  ["the webhook is paused", patch({ status: "paused" })],
  ["the webhook is deleted", ({ admin, webhookId: id }) => dispatcher.webhooks(admin).deleteWebhook({ id })],
  ["the webhook subscribes to other events", patch({ events: ["device.offline"] })],
  ["the webhook becomes ordered", patch({ ordered: true })],
  ["another webhook is made", ({ admin }) => dispatcher.webhook(admin, receiver)],
  [
    "its organization is deleted",
    ({ orgId }) => dispatcher.change("UPDATE tenant SET deleted = true WHERE id = $1", [orgId]),
  ],
  ["webhooks of its organization are stopped", alter("UPDATE webhooks SET stopped_at = now() WHERE id = $1")],
  [
    "its organization has a backlog",
    ({ orgId }) =>
      dispatcher.change(
        "INSERT INTO webhook_backlog (org_id, event_id, type, occurred_at, body) VALUES ($1, $1, 'device.online', now(), '{}')",
        [orgId],
      ),
  ],
  [
    "the breaker opens",
    alter("UPDATE webhook_endpoint_state SET open_until = now() + interval '1 h' WHERE webhook_id = $1"),
  ],
  ["the webhook has no free slot", alter("UPDATE webhook_endpoint_state SET slots = 1 WHERE webhook_id = $1")],
  [
    "an earlier delivery is due",
    alter("UPDATE webhook_queue SET leased = false, attempt = 0, due_at = now() WHERE webhook_id = $1"),
  ],
];

/** The result of a published event, without ids. */
async function resultOf({ orgId }: Tenant, id: string, isAccepted: boolean) {
  const [deliveries, streamed] = await Promise.all([
    dispatcher.rows<{ leased: boolean; attempt: number }>(
      "SELECT leased, attempt FROM webhook_queue WHERE org_id = $1 AND event_id = $2",
      [orgId, id],
    ),
    dispatcher.rows("SELECT FROM outbox WHERE subject LIKE $1", [`events.webhook-dispatcher.${orgId}.%`]),
  ]);
  return { isAccepted, deliveries, streamed: streamed.length };
}

async function newTenant(): Promise<Tenant> {
  const { orgId, admin } = await dispatcher.organization();
  const { id: webhookId } = await dispatcher.webhook(admin, receiver);
  return { orgId, admin, webhookId };
}

/** As another process: its sender starts no request, and shares no mutex with this one. */
const apart = { start: () => undefined, exclusively: <T>(run: () => Promise<T>) => run() };
const publish = (
  { admin }: Tenant,
  id: string,
  organizations: OrganizationCache,
  db: Database = dispatcher.database.db,
) => dispatcher.publishBy(admin, { type, id }, { db, organizations, ...apart });

describe("an event of a cached organization", () => {
  it.each(changes)("is stored as without the cache when %s", async (_what, change) => {
    start();
    const results = await dispatcher.database.db.tx(who, async (tx) => {
      // No claim takes the due deliveries meanwhile.
      await tx.query(sql`SELECT pg_advisory_xact_lock(${claimLock}::bigint)`);
      return await Promise.all(
        [true, false].map(async (isCached) => {
          const cache = createOrganizationCache();
          const own = await newTenant();
          await publish(own, uuidv7(), cache);
          await change(own);
          const id = uuidv7();
          const isAccepted = await publish(own, id, isCached ? cache : createOrganizationCache());
          return await resultOf(own, id, isAccepted);
        }),
      );
    });
    expect(results[0]).toEqual(results[1]);
  });

  it("goes over the stream while webhooks of its organization are being changed", async () => {
    start();
    const cache = createOrganizationCache();
    const own = await newTenant();
    await publish(own, uuidv7(), cache);
    await dispatcher.database.db.tx(who, async (tx) => {
      await tx.query(
        sql`SELECT pg_advisory_xact_lock(hashtextextended(${own.orgId}, ${webhooksOfOrganization}::bigint))`,
      );
      expect(await publish(own, uuidv7(), cache)).toBe(true);
    });
    const { streamed } = await resultOf(own, uuidv7(), true);
    expect(streamed).toBe(1);
  });

  it("takes one batch, and is leased up to the slots of its webhook", async () => {
    start();
    const { db } = dispatcher.database;
    const paths: string[] = [];
    const counted: Database = {
      ...db,
      tx(...wanted) {
        paths.push("read first");
        return db.tx(...wanted);
      },
      inOneBatch(...wanted) {
        paths.push("one batch");
        return db.inOneBatch(...wanted);
      },
    };
    const cache = createOrganizationCache();
    const own = await newTenant();
    for (let n = 0; n < 9; n++) await publish(own, uuidv7(), cache, counted);
    expect(paths).toEqual(["read first", ...Array.from({ length: 8 }, () => "one batch")]);
    const leased = await dispatcher.rows("SELECT FROM webhook_queue WHERE webhook_id = $1 AND leased", [own.webhookId]);
    expect(leased).toHaveLength(8);
    await publish(own, uuidv7(), cache, counted);
    expect(paths.at(-1)).toBe("read first");
  });
});

describe("the cache of organizations", () => {
  const state = (orgId: string, hooks: IntakeHook[]) => ({
    organizations: new Map([[orgId, { orgId, partnerId: "p", held: true, backlogged: false, keeps: false }]]),
    hooks,
  });

  it("is bounded: the least recently used organization is evicted first", () => {
    const cache = createOrganizationCache(4);
    for (const orgId of ["a", "b"]) cache.update(state(orgId, [freeHook(orgId)]));
    cache.get(["a"]);
    cache.update(state("c", [freeHook("c")]));
    expect(["a", "b", "c"].map((orgId) => cache.get([orgId]) !== null)).toEqual([true, false, true]);
  });

  it.each<[string, Partial<IntakeHook>]>([
    ["ordered", { ordered: true }],
    ["half full", { leased: 4 }],
    ["behind an open breaker", { closed: false }],
    ["waiting", { waits: true }],
  ])("leaves out an organization with a webhook that is %s", (_what, change) => {
    const cache = createOrganizationCache();
    cache.update(state("a", [freeHook("a", change)]));
    expect(cache.get(["a"])).toBeNull();
  });
});
