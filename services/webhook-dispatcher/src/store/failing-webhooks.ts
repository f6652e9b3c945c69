import { type Database, sql } from "@muster/db";
import type { CallContext } from "@muster/kit";
import type { HealthFacts } from "../rules/health.ts";
import { healthColumns } from "./health.ts";
import { visible, type WebhookRow } from "./webhooks.ts";

export type FailingWebhook = HealthFacts & Pick<WebhookRow, "id" | "org_id" | "partner_id" | "name" | "updated_at">;

/**
 * Webhooks in the caller's access scope that are failing or unreachable, as rules/health.ts has it, newest first. A
 * paused one fails nothing.
 */
export function failingWebhooks(
  db: Database,
  who: CallContext,
  { orgId, failingAttempts, at }: { orgId: string | null; failingAttempts: number; at: Date },
  most: number,
): Promise<FailingWebhook[]> {
  return db.read<FailingWebhook>(
    who,
    sql`SELECT t.id, t.org_id, t.partner_id, t.name, t.updated_at, t.status, ${healthColumns}, NULL::timestamptz AS next_due_at
        FROM webhooks AS t JOIN webhook_endpoint_state AS s ON s.webhook_id = t.id
        WHERE ${visible(who.caller)} AND (${orgId}::uuid IS NULL OR t.org_id = ${orgId}::uuid) AND t.status IN ('active', 'error')
          AND (t.status = 'error' OR s.open_until > ${at}::timestamptz OR s.open_seconds > 0
               OR s.failed_attempts >= ${failingAttempts}::int)
        ORDER BY t.created_at DESC, t.id DESC LIMIT ${most}`,
  );
}
