import type { Tx } from "@muster/db";
import type { CallContext } from "@muster/kit";
import { auditEvent } from "@muster/service";
import type { WebhookRow } from "../store/webhooks.ts";

/** Emits the audit row of a change of a webhook, in the transaction of the change. */
export function record(
  tx: Tx,
  context: CallContext,
  row: Pick<WebhookRow, "id" | "name" | "org_id" | "partner_id">,
  action: string,
  details: Record<string, unknown>,
  at: Date,
): void {
  const type = action === "webhook.requeue" ? "webhook_dead_letter" : "webhook";
  const resource = { type, id: row.id, name: row.name };
  const fact = { action, resource, orgId: row.org_id, partnerId: row.partner_id, details };
  tx.emit(auditEvent("webhook-dispatcher", context, fact, at));
}
