import { describe, expect, it } from "@jest/globals";
import { uuidv7 } from "@muster/kit";
import { until } from "@muster/testing";
import { ownDispatcher } from "../testing/own-dispatcher.ts";
import { ownSenders } from "../testing/own-senders.ts";

const { dispatcher, receiver } = ownDispatcher();
const start = ownSenders(dispatcher);

/** A webhook with one delivery in the queue, of a day whose tables were dropped: as when it was paused for a month. */
async function old(lease: { leased: boolean }) {
  const { orgId, partnerId, admin } = await dispatcher.organization();
  const webhook = await dispatcher.webhook(admin, receiver);
  await dispatcher.change(
    `INSERT INTO webhook_queue (delivery_id, created_at, webhook_id, org_id, partner_id, event_id, due_at, leased, attempt)
     VALUES (gen_random_uuid(), now() - interval '20 days', $1, $2, $3, gen_random_uuid(), now() - interval '1 s', $4, $5)`,
    [webhook.id, orgId, partnerId, lease.leased, lease.leased ? 1 : 0],
  );
  return webhook.id;
}

describe("a delivery whose day is no longer kept", () => {
  it.each([{ leased: false }, { leased: true }])(
    "fails and delays no other (%j)",
    async (lease) => {
      const webhookId = await old(lease);
      start();
      await until("its end", async () => (await dispatcher.queuedOf(webhookId)) === 0);
      const good = await dispatcher.organization();
      const hook = await dispatcher.webhook(good.admin, receiver);
      const id = uuidv7();
      await dispatcher.publishBy(good.admin, { type: "device.online", id }, {});
      await until(
        "another's delivery",
        async () => (await dispatcher.deliveriesOf(hook.id))[0]?.status === "delivered",
      );
      expect(receiver.of(id)).toHaveLength(1);
      const letters = await dispatcher.rows("SELECT reason FROM webhook_dead_letters WHERE webhook_id = $1", [
        webhookId,
      ]);
      expect(letters).toEqual([{ reason: "The payload is not kept any more" }]);
    },
    30_000,
  );
});
