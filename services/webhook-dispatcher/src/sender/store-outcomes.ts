import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Tx } from "@muster/db";
import { counter, ownMeta, systemCaller, uuidv7 } from "@muster/kit";
import { PlatformEventSchema } from "@muster/proto/muster/events/v1/platform_pb";
import { encode } from "@muster/rpc";
import { auditEvent, eventSubject } from "@muster/service";
import {
  insertAttempts,
  insertDeadLetters,
  type Outcome,
  settleQueue,
  soleHeaders,
  updateDeliveries,
} from "../store/outcomes.ts";
import {
  addTallies,
  type FailedWebhook,
  type HealthChange,
  type HealthLimits,
  markFailed,
  tally,
} from "../store/webhook-state.ts";

const service = "webhook-dispatcher";
const deadCounter = counter("muster_webhook_dispatcher_dead_letters_total", "Deliveries whose retries were exhausted.");

/**
 * Stores outcomes with all that follows from them: attempts, deliveries, counters and breakers, dead letters, failed
 * webhooks. `changes` resolves at the latest with COMMIT, which reports a failure of the statements behind it.
 */
export async function storeOutcomes(
  tx: Tx,
  batch: readonly Outcome[],
  limits: HealthLimits,
  now: () => Date,
): Promise<{ changes: Promise<HealthChange[]> }> {
  const counted = await settleQueue(tx, batch);
  const sole = new Map<Outcome, string>();
  for (const outcome of batch) {
    const headers = soleHeaders(outcome, counted.get(outcome.claim.delivery_id));
    if (headers !== null) sole.set(outcome, headers);
  }
  const failed = batch
    .filter(({ claim, next }) => next.status === "failed" && counted.has(claim.delivery_id))
    .map((outcome) => ({ ...outcome, letterId: uuidv7(now().getTime()) }));
  const listed = batch.filter(({ claim, next }) => next.status === "delivered" || counted.has(claim.delivery_id));
  const ownRow = batch.filter((outcome) => !sole.has(outcome));
  // Rows that all senders share are locked last, so that the locks are short.
  const written = Promise.all([
    ownRow.length > 0 ? insertAttempts(tx, ownRow) : null,
    updateDeliveries(tx, listed, sole),
    failed.length > 0 ? insertDeadLetters(tx, failed) : null,
    addTallies(tx, tally(batch, counted), limits),
  ]);
  // No later statement needs these results: COMMIT is sent together with the statements, and reports their failure.
  const changes = written.then(([, , , all]) => all);
  changes.catch(() => undefined);
  if (batch.every(({ next }) => next.status === "delivered")) return { changes };
  for (const outcome of failed) announce(tx, outcome);
  deadCounter.inc(failed.length);
  await failWebhooks(tx, batch, await changes, now());
  return { changes };
}

/** Marks webhooks as failed: those that answered 410 Gone, and those without a success for too long. */
async function failWebhooks(tx: Tx, batch: readonly Outcome[], changes: readonly HealthChange[], at: Date) {
  const exhausted = changes.filter((change) => change.exhausted).map((change) => change.webhook_id);
  const gone = batch.filter((outcome) => outcome.gone).map(({ claim }) => claim.webhook_id);
  const reasons = new Map([
    ...exhausted.map((id) => [id, "exhausted"] as const),
    ...gone.map((id) => [id, "gone"] as const),
  ]);
  if (reasons.size === 0) return;
  for (const webhook of await markFailed(tx, reasons)) noteFailed(tx, webhook, reasons.get(webhook.id) ?? "", at);
}

/** A dead letter, for consumers of the stream; webhooks cannot subscribe to it. */
function announce(tx: Tx, { claim, letterId, event, attempt }: Outcome & { letterId: string }): void {
  const type = "webhook.dead_letter";
  const body = encode(PlatformEventSchema, {
    id: letterId,
    type,
    timestamp: timestampFromDate(attempt.startedAt),
    orgId: claim.org_id,
    partnerId: claim.partner_id,
    dataJson: JSON.stringify({
      webhookId: claim.webhook_id,
      deliveryId: claim.delivery_id,
      event,
      eventId: claim.event_id,
    }),
  });
  tx.emit({
    subject: eventSubject(service, claim.org_id, type),
    msgId: `${claim.org_id}/${letterId}`,
    body,
  });
}

/** The audit row and, as for dead letters, a message for consumers of the stream. */
function noteFailed(tx: Tx, webhook: FailedWebhook, reason: string, now: Date): void {
  const meta = ownMeta();
  tx.emit(
    auditEvent(
      service,
      { caller: systemCaller(service), meta },
      {
        action: "webhook.fail",
        resource: { type: "webhook", id: webhook.id, name: webhook.name },
        orgId: webhook.org_id,
        partnerId: webhook.partner_id,
        details: { reason, changes: { before: { status: "active" }, after: { status: "failed" } } },
      },
      now,
    ),
  );
  const id = uuidv7(now.getTime());
  const type = "webhook.failed";
  const body = encode(PlatformEventSchema, {
    id,
    type,
    timestamp: timestampFromDate(now),
    orgId: webhook.org_id,
    partnerId: webhook.partner_id,
    dataJson: JSON.stringify({ webhookId: webhook.id, name: webhook.name, reason }),
  });
  tx.emit({
    subject: eventSubject(service, webhook.org_id, type),
    msgId: `${webhook.org_id}/${id}`,
    body,
  });
}
