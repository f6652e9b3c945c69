import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Database, Tx } from "@muster/db";
import { backoffMs, counter, type Logger, sleep, systemCaller, uuidv7 } from "@muster/kit";
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

export type FinisherDeps = {
  db: Database;
  log: Logger;
  now: () => Date;
  limits: HealthLimits;
  /** Most requests in flight of one organization. */
  organizationConcurrency: number;
  /** Whether a queued delivery waits for a slot that this outcome frees. */
  frees: (outcome: Outcome) => boolean;
  /** No request is in flight: no further outcome could join the batch. */
  isQuiet: () => boolean;
  /** Called with the outcomes of each stored batch, and whether any of them freed a slot that a delivery waits for. */
  onStored: (outcomes: readonly Outcome[], isFreed: boolean) => void;
};

export type Finisher = {
  add(outcome: Outcome): void;
  /** The results of `frees` changed: stores waiting outcomes immediately if one of them frees a slot. */
  hurry(): void;
  /** Outcomes that are not stored yet. */
  waiting(): number;
  /** The last batch could not be stored: claim nothing meanwhile. */
  stuck(): boolean;
  /** Resolves when everything added before is stored. */
  drained(): Promise<void>;
};

const batchMax = 256;
/** Longest wait of an outcome for others in milliseconds, while none of them frees a slot that a delivery waits for. */
const batchMs = 100;
/**
 * Longest wait in milliseconds of an outcome that frees a slot: other outcomes of the event join; no wait when no
 * request is in flight.
 */
const urgentBatchMs = 4;
/** Most concurrent batches; rows that two of them touch are locked in one order. */
const storesMax = 2;
/**
 * Outcomes from which a batch is stored although another one is being stored; any number when the database refused that
 * one.
 */
const besideMin = 128;
const service = "webhook-dispatcher";
const who = () => ({ caller: systemCaller(service) });

const attemptsCounter = counter("muster_webhook_dispatcher_attempts_total", "Attempts, by outcome.", ["outcome"]);
const deadCounter = counter("muster_webhook_dispatcher_dead_letters_total", "Deliveries whose retries were exhausted.");
const breakerCounter = counter(
  "muster_webhook_dispatcher_breaker_opened_total",
  "Times that a webhook's breaker opened.",
);

/** Stores outcomes in batches, and retries until the database accepts them: an outcome is never dropped. */
export function createFinisher(deps: FinisherDeps): Finisher {
  const { db, log, now, limits, organizationConcurrency, frees, isQuiet, onStored } = deps;
  const pending: Outcome[] = [];
  let storing = 0;
  let stores = 0;
  let isStuck = false;
  /** Number of waiting outcomes by webhook and by organization: each holds a slot. */
  const waiting = new Map<string, number>();
  let isCrowded = false;
  /** A waiting outcome frees a slot that a delivery waits for. */
  let isUrgent = false;
  let timer: NodeJS.Timeout | undefined;
  let onIdle: (() => void) | null = null;

  // Outcomes that arrive while batches are being stored wait and go together: a transaction costs as much as dozens of
  // rows.
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    while (pending.length > 0 && (stores === 0 || (stores < storesMax && (isStuck || pending.length >= besideMin)))) {
      void store(pending.splice(0, batchMax));
      waiting.clear();
      isCrowded = false;
      isUrgent = pending.some(frees);
    }
    if (pending.length === 0 && stores === 0) onIdle?.();
  };

  /** Whether half of the slots of a webhook or an organization are held by waiting outcomes. */
  const noteWaiting = ({ claim }: Outcome) => {
    for (const [id, slots] of [
      [claim.webhook_id, limits.webhookConcurrency],
      [claim.org_id, organizationConcurrency],
    ] as const) {
      const count = (waiting.get(id) ?? 0) + 1;
      waiting.set(id, count);
      isCrowded ||= count * 2 >= slots;
    }
  };

  const becomeUrgent = () => {
    isUrgent = true;
    clearTimeout(timer);
    timer = undefined;
  };

  const flushSoon = () => {
    if (isUrgent && isQuiet()) flush();
    else timer ??= setTimeout(flush, isUrgent ? urgentBatchMs : batchMs);
  };

  const store = async (batch: Outcome[]) => {
    stores += 1;
    storing += batch.length;
    for (let attempt = 0; ; attempt++) {
      try {
        const { changes } = await db.tx(who(), (tx) => storeBatch(tx, batch), { retry: true });
        noteOpened(await changes);
        break;
      } catch (err) {
        isStuck = true;
        log.warn({ err, outcomes: batch.length }, "outcomes cannot be stored now, trying again");
        await sleep(backoffMs(attempt, 50, 2_000));
      }
    }
    isStuck = false;
    stores -= 1;
    storing -= batch.length;
    for (const { next } of batch) attemptsCounter.inc({ outcome: next.status });
    onStored(batch, batch.some(frees));
    if (pending.length === 0 && stores === 0) onIdle?.();
    else if (pending.length >= besideMin || isCrowded || isUrgent || onIdle !== null) flush();
    else if (pending.length > 0) flushSoon();
  };

  const noteOpened = (changes: readonly HealthChange[]) => {
    const opened = changes.filter((change) => change.opened);
    breakerCounter.inc(opened.length);
    if (opened.length > 0) log.warn({ webhooks: opened.map((change) => change.webhook_id) }, "breaker opened");
  };

  const storeBatch = async (tx: Tx, batch: readonly Outcome[]): Promise<{ changes: Promise<HealthChange[]> }> => {
    const counted = await settleQueue(tx, batch);
    const sole = new Map<Outcome, string>();
    for (const outcome of batch) {
      const headers = soleHeaders(outcome, counted.get(outcome.claim.delivery_id));
      if (headers !== null) sole.set(outcome, headers);
    }
    const failed = batch
      .filter(({ claim, next }) => next.status === "failed" && counted.has(claim.delivery_id))
      .map((outcome) => ({ ...outcome, letterId: uuidv7(now().getTime()) }));
    // Rows that all senders share are locked last, so that the locks are short.
    const written = Promise.all([
      sole.size === batch.length
        ? null
        : insertAttempts(
            tx,
            batch.filter((outcome) => !sole.has(outcome)),
          ),
      updateDeliveries(
        tx,
        batch.filter(({ claim, next }) => next.status === "delivered" || counted.has(claim.delivery_id)),
        sole,
      ),
      failed.length > 0 ? insertDeadLetters(tx, failed) : null,
      addTallies(tx, tally(batch, counted), limits),
    ]);
    // No later statement needs these results: COMMIT is sent together with the statements, and reports their failure.
    const changed = written.then(([, , , all]) => all);
    changed.catch(() => undefined);
    if (batch.every(({ next }) => next.status === "delivered")) return { changes: changed };
    const changes = await changed;
    for (const outcome of failed) announce(tx, outcome);
    deadCounter.inc(failed.length);
    const gone = batch.filter((outcome) => outcome.gone).map(({ claim }) => claim.webhook_id);
    const exhausted = changes.filter((change) => change.exhausted).map((change) => change.webhook_id);
    if (gone.length + exhausted.length > 0) {
      const reasons = new Map([
        ...exhausted.map((id) => [id, "exhausted"] as const),
        ...gone.map((id) => [id, "gone"] as const),
      ]);
      for (const webhook of await markFailed(tx, reasons)) {
        noteFailed(tx, webhook, reasons.get(webhook.id) ?? "", now());
      }
    }
    return { changes: changed };
  };

  return {
    add(outcome) {
      pending.push(outcome);
      noteWaiting(outcome);
      if (!isUrgent && frees(outcome)) becomeUrgent();
      if (pending.length >= batchMax || isCrowded) flush();
      else if (stores === 0) flushSoon();
    },
    hurry() {
      if (isUrgent || !pending.some(frees)) return;
      becomeUrgent();
      flush();
    },
    waiting: () => pending.length + storing,
    stuck: () => isStuck,
    drained() {
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve;
      });
      flush();
      return idle;
    },
  };
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
  const meta = { requestId: uuidv7(), clientAddress: null, userAgent: null, traceparent: null };
  tx.emit(
    auditEvent(
      service,
      { ...who(), meta },
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
