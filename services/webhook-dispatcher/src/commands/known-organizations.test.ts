import { describe, expect, it } from "@jest/globals";
import { type Database, sql } from "@muster/db";
import { type Caller, systemCaller, uuidv7 } from "@muster/kit";
import type { IntakeHook } from "../rules/intake.ts";
import { claimLock } from "../store/queue.ts";
import { webhooksOfOrganization } from "../store/webhooks.ts";
import { freeHook } from "../testing/free-hook.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { ownSenders } from "../testing/own-senders.ts";
import { createKnownOrganizations, type KnownOrganizations } from "./known-organizations.ts";

const { dispatcher, receiver } = ownDispatcher();
const start = ownSenders(dispatcher);
const type = "device.online";
const who = { caller: systemCaller("webhook-dispatcher") };

type Place = { orgId: string; admin: Caller; webhookId: string };
type Change = (place: Place) => Promise<unknown>;

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

/** What a published event has become, without ids. */
async function resultOf({ orgId }: Place, id: string, isAccepted: boolean) {
  const [deliveries, streamed] = await Promise.all([
    dispatcher.rows<{ leased: boolean; attempt: number }>(
      "SELECT leased, attempt FROM webhook_queue WHERE org_id = $1 AND event_id = $2",
      [orgId, id],
    ),
    dispatcher.rows("SELECT FROM outbox WHERE subject LIKE $1", [`events.webhook-dispatcher.${orgId}.%`]),
  ]);
  return { isAccepted, deliveries, streamed: streamed.length };
}

async function place(): Promise<Place> {
  const { orgId, admin } = await dispatcher.organization();
  const { id: webhookId } = await dispatcher.webhook(admin, receiver);
  return { orgId, admin, webhookId };
}

/** As another process whose sender begins no request: it takes turns with nobody here. */
const apart = { begin: () => undefined, inTurn: <T>(run: () => Promise<T>) => run() };
const publish = ({ admin }: Place, id: string, knows: KnownOrganizations, db: Database = dispatcher.database.db) =>
  dispatcher.publishBy(admin, { type, id }, { db, knows, ...apart });

describe("an event of an organization that its process knows", () => {
  it.each(changes)("is stored as by one that does not when %s", async (_what, change) => {
    start();
    const results = await dispatcher.database.db.tx(who, async (tx) => {
      // No claim takes what is left due meanwhile.
      await tx.query(sql`SELECT pg_advisory_xact_lock(${claimLock}::bigint)`);
      return await Promise.all(
        [true, false].map(async (isKnown) => {
          const knows = createKnownOrganizations();
          const own = await place();
          await publish(own, uuidv7(), knows);
          await change(own);
          const id = uuidv7();
          const isAccepted = await publish(own, id, isKnown ? knows : createKnownOrganizations());
          return await resultOf(own, id, isAccepted);
        }),
      );
    });
    expect(results[0]).toEqual(results[1]);
  });

  it("goes over the stream while webhooks of its organization are being changed", async () => {
    start();
    const knows = createKnownOrganizations();
    const own = await place();
    await publish(own, uuidv7(), knows);
    await dispatcher.database.db.tx(who, async (tx) => {
      await tx.query(
        sql`SELECT pg_advisory_xact_lock(hashtextextended(${own.orgId}, ${webhooksOfOrganization}::bigint))`,
      );
      expect(await publish(own, uuidv7(), knows)).toBe(true);
    });
    const { streamed } = await resultOf(own, uuidv7(), true);
    expect(streamed).toBe(1);
  });

  it("takes one flight, and is leased up to the slots of its webhook", async () => {
    start();
    const { db } = dispatcher.database;
    const ways: string[] = [];
    const counted: Database = {
      ...db,
      tx(...wanted) {
        ways.push("read first");
        return db.tx(...wanted);
      },
      inOneBatch(...wanted) {
        ways.push("one flight");
        return db.inOneBatch(...wanted);
      },
    };
    const knows = createKnownOrganizations();
    const own = await place();
    for (let n = 0; n < 9; n++) await publish(own, uuidv7(), knows, counted);
    expect(ways).toEqual(["read first", ...Array.from({ length: 8 }, () => "one flight")]);
    const leased = await dispatcher.rows("SELECT FROM webhook_queue WHERE webhook_id = $1 AND leased", [own.webhookId]);
    expect(leased).toHaveLength(8);
    await publish(own, uuidv7(), knows, counted);
    expect(ways.at(-1)).toBe("read first");
  });
});

describe("what a process knows of organizations", () => {
  const state = (orgId: string, hooks: IntakeHook[]) => ({
    places: new Map([[orgId, { orgId, partnerId: "p", held: true, behind: false }]]),
    hooks,
  });

  it("is bounded: the organization that was used longest ago is forgotten first", () => {
    const known = createKnownOrganizations(4);
    for (const orgId of ["a", "b"]) known.learn(state(orgId, [freeHook(orgId)]));
    known.of(["a"]);
    known.learn(state("c", [freeHook("c")]));
    expect(["a", "b", "c"].map((orgId) => known.of([orgId]) !== null)).toEqual([true, false, true]);
  });

  it.each<[string, Partial<IntakeHook>]>([
    ["ordered", { ordered: true }],
    ["half full", { leased: 4 }],
    ["behind an open breaker", { closed: false }],
    ["waiting", { waits: true }],
  ])("leaves out one with a webhook that is %s", (_what, change) => {
    const known = createKnownOrganizations();
    known.learn(state("a", [freeHook("a", change)]));
    expect(known.of(["a"])).toBeNull();
  });
});
