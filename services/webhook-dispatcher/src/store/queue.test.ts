import { describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { asOwner } from "@muster/testing";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { behindOf } from "./pressure.ts";
import { claimDue, nextDueMs } from "./queue.ts";

const { dispatcher } = ownDispatcher();
const slots = { endpointSlots: 8, organizationSlots: 64, hostSlots: 256 };

describe("the queue of a partner with 10,000 webhooks", () => {
  it("is claimed from, and looked at, by a key for each webhook", async () => {
    // Statistics of a time without webhooks: of the plan nothing may depend on them.
    await asOwner(dispatcher.database, (owner) => owner.query("ANALYZE"));
    await dispatcher.change(
      `INSERT INTO webhooks (id, org_id, partner_id, name, url_sealed, url_shown, headers_sealed, events, created_by,
                             created_at, updated_at)
       SELECT gen_random_uuid(), md5((n / 100)::text)::uuid, $1, 'Hook', '', 'https://' || n % 50 || '.example.test', '',
              '{*}', 'test', now(), now()
       FROM generate_series(1, 10000) AS n`,
      [uuidv7()],
    );
    await dispatcher.change(
      "INSERT INTO webhook_endpoint_state (webhook_id, org_id, partner_id) SELECT id, org_id, partner_id FROM webhooks",
    );
    await dispatcher.change(
      `INSERT INTO webhook_queue (delivery_id, created_at, webhook_id, org_id, partner_id, event_id, due_at)
       SELECT gen_random_uuid(), now(), id, org_id, partner_id, gen_random_uuid(), now() - interval '1 s'
       FROM webhooks, generate_series(1, 2)`,
    );
    const partners = { rooms: new Map(), otherRoom: 256 };
    const { claims } = await claimDue(dispatcher.database.db, { ...slots, most: 256, leaseMs: 45_000, partners });
    expect(claims).toHaveLength(256);
    // The planner compared each webhook with each here: 8 s and more, which ends the statement.
    expect(await dispatcher.upkeep((tx) => nextDueMs(tx, 1_000))).toBe(0);
    expect(await dispatcher.upkeep((tx) => behindOf(tx, { ...slots, olderMs: 60_000 }))).toEqual([]);
  }, 60_000);
});
