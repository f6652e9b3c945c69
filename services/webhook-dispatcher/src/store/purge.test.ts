import { describe, expect, it } from "@jest/globals";
import { createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { type PurgedTenant, purgeAll, requestPurge } from "@muster/service";
import { asOwner, tenantRows, until } from "@muster/testing";
import { eventMessage } from "../testing/dispatcher.ts";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { oneRowOfEach } from "../testing/rows.ts";
import { purgePlan } from "./purge.ts";

const { dispatcher, receiver } = ownDispatcher();
const log = createLogger("purge-test", "fatal");
const purges = () => ({ db: dispatcher.database.db, service: "webhook-dispatcher", log, plan: purgePlan });
const purge = (tenant: PurgedTenant) =>
  dispatcher.database.db.tx({ caller: systemCaller("webhook-dispatcher") }, (tx) => requestPurge(tx, tenant));

/** An organization with rows in every table, a message that could not be read among them. */
async function filled(partnerId?: string) {
  const organization = await dispatcher.organization(partnerId);
  const { orgId } = organization;
  await asOwner(dispatcher.database, (owner) => owner.query(oneRowOfEach({ id: uuidv7(), ...organization })));
  await dispatcher.matchBatch([{ ...eventMessage(orgId), body: Buffer.from([0xff, 0xff]) }]);
  return organization;
}

async function unread(orgId: string): Promise<number> {
  return (await dispatcher.rows("SELECT FROM dead_letter WHERE subject LIKE $1", [`events.%.${orgId}.%`])).length;
}

const sum = (counts: Record<string, number>) => Object.values(counts).reduce((total, n) => total + n, 0);

describe("a purged tenant", () => {
  it("has no rows left in any table, and another tenant keeps all of its rows and is served", async () => {
    const gone = await filled();
    const neighbour = await filled(gone.partnerId);
    const before = await tenantRows(dispatcher.database, gone.orgId);
    expect(Object.entries(before).filter(([, n]) => n === 0)).toEqual([]);
    expect(Object.keys(before)).toHaveLength(14);
    const { orgId: id } = gone;
    await purge({ kind: "organization", id });
    await purge({ kind: "organization", id });
    expect(await purgeAll(purges())).toBe(1);
    expect([sum(await tenantRows(dispatcher.database, id)), await unread(id)]).toEqual([0, 0]);
    expect(await tenantRows(dispatcher.database, neighbour.orgId)).toEqual(before);
    expect(await unread(neighbour.orgId)).toBe(1);
    const webhook = await dispatcher.webhook(neighbour.admin, receiver);
    const event = eventMessage(neighbour.orgId);
    await dispatcher.match([event]);
    const got = (await dispatcher.deliveriesOf(webhook.id)).map((delivery) => delivery.event_id);
    expect(got).toContain(event.msgId.split("/")[1]);
    await purge({ kind: "organization", id });
    expect(await purgeAll(purges())).toBe(0);
  });

  it("loses the data of all its organizations when it is a partner", async () => {
    const first = await filled();
    const second = await filled(first.partnerId);
    const other = await filled();
    await purge({ kind: "partner", id: first.partnerId });
    await purgeAll(purges());
    for (const { orgId } of [first, second]) {
      expect([sum(await tenantRows(dispatcher.database, orgId)), await unread(orgId)]).toEqual([0, 0]);
    }
    expect([sum(await tenantRows(dispatcher.database, other.orgId)), await unread(other.orgId)]).toEqual([14, 1]);
  });

  it("is deleted in slices, and a stopped process leaves the rest to the next one", async () => {
    const gone = await filled();
    const { orgId, partnerId } = gone;
    await asOwner(dispatcher.database, (owner) =>
      owner.query(
        `INSERT INTO webhook_deliveries (id, created_at, webhook_id, org_id, partner_id, event_id, event, status)
         SELECT gen_random_uuid(), now() - n * interval '1 minute', $1, $1, $2, gen_random_uuid(), 'device.online', 'delivered'
         FROM generate_series(1, 10000) n`,
        [orgId, partnerId],
      ),
    );
    await purge({ kind: "organization", id: orgId });
    const deliveries = async () => (await tenantRows(dispatcher.database, orgId)).webhook_deliveries ?? 0;
    const stopping = new AbortController();
    const { db } = dispatcher.database;
    // Stopped after the first slice that found some of the deliveries.
    const watched: typeof db = {
      ...db,
      async tx(who, run, options) {
        const result = await db.tx(who, run, options);
        if ((await deliveries()) < 10_001) stopping.abort();
        return result;
      },
    };
    expect(await purgeAll({ ...purges(), db: watched }, stopping.signal)).toBe(0);
    expect(await deliveries()).toBeGreaterThan(0);
    // The lease holder is silent for longer than this.
    await until("the rest", async () => (await purgeAll(purges(), undefined, 1)) === 1);
    expect(sum(await tenantRows(dispatcher.database, orgId))).toBe(0);
  });
});
