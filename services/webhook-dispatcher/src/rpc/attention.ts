import type { AttentionSource } from "@muster/service";
import { type HealthThresholds, healthOf } from "../rules/health.ts";
import { failingWebhooks } from "../store/failing-webhooks.ts";
import { requireReader } from "./guards.ts";

type Deps = { now: () => Date; health: HealthThresholds };

/** Webhooks that are failing or unreachable, for those who may read webhooks. */
export function failingWebhookSource({ now, health }: Deps): AttentionSource {
  return {
    guard: requireReader,
    async find(tx, context, orgId, most) {
      const at = now();
      const rows = await failingWebhooks(tx, context, { orgId, failingAttempts: health.failingAttempts }, most);
      return rows.map((row) => ({
        kind: "webhook",
        record: { type: "webhook", id: row.id, name: row.name },
        orgId: row.org_id,
        partnerId: row.partner_id,
        since: row.failing_since ?? row.updated_at,
        sentence: healthOf(row, health, at).reason,
      }));
    },
  };
}
