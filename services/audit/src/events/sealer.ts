import type { Bus, BusMessage } from "@muster/bus";
import type { Database } from "@muster/db";
import { counter, histogram, type Logger, messageOf } from "@muster/kit";
import { type AuditEvent, AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { decode } from "@muster/rpc";
import { emittingServices, mayEmit } from "../rules/emitters.ts";
import { clean, type Entry, entryOf, UnsealableError } from "../rules/entry.ts";
import { noticeOf } from "../rules/notice.ts";
import { needsOrganization } from "../rules/organization-actions.ts";
import { type Rejected, sealBatch } from "../store/seal.ts";
import { createTaskQueue } from "./task-queue.ts";

type Deps = { db: Database; log: Logger; now: () => Date; batchRows: number; batchBytes: number };

// Enough that a batch is ready when a turn is free.
const ahead = 2;

const sealedRows = counter("muster_audit_rows_sealed_total", "Rows sealed into their chains");
const byService = { service: emittingServices };
const rejectedRows = counter(
  "muster_audit_events_rejected_total",
  "Audit events that could not be sealed",
  ["service"],
  byService,
);
const droppedRows = counter(
  "muster_audit_events_dropped_total",
  "Events without the organization that their action needs",
  ["service"],
  byService,
);
const batchRows = histogram(
  "muster_audit_seal_batch_rows",
  "Messages in a sealed batch",
  [],
  [1, 2, 5, 10, 50, 100, 250, 500],
);

/**
 * One durable per partition, one batch in flight each over all replicas. `concurrency` batches are sealed concurrently,
 * and few more wait: a waiting batch outlives the young generation, which costs as much again as sealing it.
 */
export async function startSealer(bus: Bus, deps: Deps & { concurrency: number }): Promise<{ stop(): Promise<void> }> {
  const tasks = createTaskQueue(deps.concurrency, deps.concurrency + ahead);
  const consumers = Array.from({ length: 16 }, (_, partition) =>
    bus.consume(
      {
        stream: "AUDIT",
        durable: `sealer-${partition}`,
        filterSubject: `audit.*.${partition}`,
        maxAckPending: deps.batchRows,
        batchMax: deps.batchRows,
        batchBytes: deps.batchBytes,
        maxDeliver: 10,
        room: tasks.room,
        onDeadLetter: async (message, reason) => {
          await sealMessages(deps, [message], reason);
        },
      },
      (batch) => tasks.run(() => sealMessages(deps, batch)),
    ),
  );
  return {
    async stop() {
      await Promise.all(consumers.map((c) => c.stop()));
    },
  };
}

/**
 * Seals valid messages; invalid ones are dead-lettered and replaced by an `audit.event.rejected` row. An organization's
 * event without an organization is dropped and counted.
 */
export async function sealMessages(deps: Deps, batch: readonly BusMessage[], deadLetterReason?: string): Promise<void> {
  const entries: Entry[] = [];
  const rejected: Rejected[] = [];
  const now = deps.now();
  let subject = "";
  let service = "";
  for (const message of batch) {
    // Few subjects in a batch, mostly one.
    if (message.subject !== subject) {
      subject = message.subject;
      service = subject.split(".")[1] ?? "";
    }
    const { entry, event, reason } = deadLetterReason ? refuse(message, deadLetterReason) : read(message, service, now);
    if (entry && entry.orgId === null && needsOrganization(entry)) {
      droppedRows.inc({ service });
      deps.log.warn({ subject: message.subject, msgId: message.msgId, action: entry.action }, "audit event dropped");
    } else if (entry) entries.push(entry);
    else {
      rejectedRows.inc({ service });
      deps.log.error({ subject: message.subject, msgId: message.msgId, reason }, "audit event rejected");
      const notice = noticeOf(message, event, reason, service, now);
      const { msgId, body, deliveries, traceparent } = message;
      rejected.push({ subject, msgId: clean(msgId, 1_000), reason, body, deliveries, traceparent, notice });
      entries.push(notice);
    }
  }
  const mayRepeat = batch.some(({ deliveries }) => deliveries > 1);
  if (entries.length > 0) sealedRows.inc(await sealBatch(deps.db, entries, rejected, mayRepeat));
  batchRows.observe(batch.length);
}

type Reading = { entry: Entry | null; event: AuditEvent | null; reason: string };

function read(message: BusMessage, service: string, now: Date): Reading {
  let event: AuditEvent | null = null;
  try {
    event = decode(AuditEventSchema, message.body);
    if (!mayEmit(service, event)) return { entry: null, event, reason: `${service} may not emit this action` };
    return { entry: entryOf(event, now), event, reason: "" };
  } catch (error) {
    const reason = error instanceof UnsealableError ? error.message : `not decodable: ${messageOf(error)}`;
    return { entry: null, event, reason };
  }
}

function refuse(message: BusMessage, reason: string): Reading {
  try {
    return { entry: null, event: decode(AuditEventSchema, message.body), reason };
  } catch (error) {
    return { entry: null, event: null, reason: `${reason}; not decodable: ${messageOf(error)}` };
  }
}
