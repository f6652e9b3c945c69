import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { until } from "@muster/testing";
import type { Api } from "../support/client.ts";
import { type Cluster, receiverHost } from "../support/cluster.ts";
import type { Owner } from "./database.ts";
import type { Spot } from "./model.ts";

const absentId = "00000000-0000-4000-8000-000000000000";

/**
 * Makes paused webhooks over HTTP, each with one delivery that failed, as the dispatcher stores it after half a minute
 * of retries.
 */
export async function webhookMakers(cluster: Cluster, root: Api, owner: Owner) {
  const ports = JSON.parse(await readFile(join(dirname(cluster.dataDir), "receivers.json"), "utf8")) as number[];
  const url = `https://${receiverHost}:${ports.at(-1)}/isolation`;
  const deliveries = new Map<string, string>();
  const replays = new Map<string, string>();

  const expectStatus = async (wanted: number, method: string, path: string, body: object) => {
    const reply = await root.call(method, path, body);
    if (reply.status !== wanted)
      throw new Error(`${method} ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  };

  return {
    url,

    async pauseMade(): Promise<void> {
      const made = await owner.rows<{ id: string }>(
        `SELECT id FROM webhook_dispatcher.webhooks
         WHERE status = 'active' AND url_shown = $1 AND stopped_at IS NULL AND deleted_at IS NULL`,
        [url],
      );
      for (const { id } of made) await expectStatus(200, "PATCH", `/webhooks/${id}`, { status: "paused" });
    },

    // For a missing webhook: an id without a record.
    replayOf: (webhookId: string) => replays.get(webhookId) ?? absentId,
    deliveryOf: (webhookId: string) => deliveries.get(webhookId) ?? absentId,

    async webhook({ orgId }: Spot, name: string): Promise<string> {
      const { id } = await expectStatus(201, "POST", "/webhooks", { orgId, name, url, events: ["*"] });
      await expectStatus(200, "PATCH", `/webhooks/${id}`, { status: "paused" });
      const tested = await expectStatus(202, "POST", `/webhooks/${id}/test`, { payload: { name } });
      const { id: deliveryId } = tested.delivery as { id: string };
      const [failed] = await owner.rows<{ id: string }>(
        `WITH gone AS (DELETE FROM webhook_dispatcher.webhook_queue WHERE delivery_id = $1)
         UPDATE webhook_dispatcher.webhook_deliveries SET status = 'failed', attempt = 6, finished_at = now()
         WHERE id = $1 RETURNING id`,
        [deliveryId],
      );
      if (!failed) throw new Error("a test delivery was not stored");
      deliveries.set(String(id), deliveryId);
      // Open and not processed: a digest of its row stays the same for every caller.
      const replay = await expectStatus(202, "POST", `/webhooks/${id}/replay`, { since: "2020-01-01" });
      await owner.rows(
        `UPDATE webhook_dispatcher.webhook_replays
         SET state = 'queued', finished_at = NULL, next_chunk_at = now() + interval '1 day' WHERE id = $1`,
        [replay.id],
      );
      replays.set(String(id), String(replay.id));
      return String(id);
    },

    /** An event as the dispatcher stores it. */
    async event({ orgId, partnerId }: Spot, name: string): Promise<string> {
      const [event] = await owner.rows<{ id: string }>(
        `WITH key AS (
           INSERT INTO webhook_dispatcher.webhook_event_keys (org_id, event_id, occurred_at)
           VALUES ($1, gen_random_uuid(), date_trunc('milliseconds', now())) RETURNING *
         )
         INSERT INTO webhook_dispatcher.webhook_events (org_id, id, occurred_at, partner_id, type, body)
         SELECT org_id, event_id, occurred_at, $2, 'patch.failed', $3 FROM key RETURNING id`,
        [orgId, partnerId, JSON.stringify({ data: { name } })],
      );
      if (!event) throw new Error("an event was not stored");
      return event.id;
    },

    async deadLetter(webhookId: string): Promise<string> {
      const [letter] = await until("the dead letter", () =>
        owner.rows<{ id: string }>(
          `INSERT INTO webhook_dispatcher.webhook_dead_letters
             (id, org_id, partner_id, webhook_id, delivery_id, delivery_created_at, event, event_id, reason, attempts, created_at)
           SELECT gen_random_uuid(), org_id, partner_id, webhook_id, id, created_at, event, event_id, 'a test', 6, now()
           FROM webhook_dispatcher.webhook_deliveries WHERE id = $1 RETURNING id`,
          [deliveries.get(webhookId)],
        ),
      );
      return (letter as { id: string }).id;
    },
  };
}
