import { sql, type Tx } from "@muster/db";
import type { CallContext } from "@muster/kit";
import { ofOrganization, visibleTo } from "@muster/service";
import type { HealthFacts } from "../rules/health.ts";
import { healthColumns } from "./health.ts";
import { visible, type WebhookRow } from "./webhooks.ts";

export type FailingWebhook = HealthFacts & Pick<WebhookRow, "id" | "org_id" | "partner_id" | "name" | "updated_at">;

/**
 * Webhooks in the caller's access scope that are failing or unreachable, as rules/health.ts has it, newest first
 * (indexes webhook_endpoint_state_failing, webhooks_marked_failed). A paused one fails nothing.
 */
export function failingWebhooks(
  tx: Tx,
  { caller }: CallContext,
  { orgId, failingAttempts }: { orgId: string | null; failingAttempts: number },
  most: number,
): Promise<FailingWebhook[]> {
  const own = sql`${visibleTo(caller)} AND ${ofOrganization(orgId)}`;
  // An open breaker has open_seconds, and failed attempts have a first one. Without the CTE the planner, which knows
  // nothing of how few they are, would join all webhooks.
  return tx.query<FailingWebhook>(sql`
    WITH failing AS MATERIALIZED (
      SELECT t.webhook_id AS id FROM webhook_endpoint_state AS t
      WHERE (t.failing_since IS NOT NULL OR t.open_seconds > 0)
        AND (t.open_seconds > 0 OR t.failed_attempts >= ${failingAttempts}::int) AND ${own}
      UNION
      SELECT t.id FROM webhooks AS t WHERE t.status = 'error' AND t.deleted_at IS NULL AND ${own})
    SELECT t.id, t.org_id, t.partner_id, t.name, t.updated_at, t.status, ${healthColumns}, NULL::timestamptz AS next_due_at
    FROM failing AS f JOIN webhooks AS t ON t.id = f.id JOIN webhook_endpoint_state AS s ON s.webhook_id = t.id
    WHERE ${visible(caller)} AND t.status IN ('active', 'error')
    ORDER BY t.created_at DESC, t.id DESC LIMIT ${most}`);
}
