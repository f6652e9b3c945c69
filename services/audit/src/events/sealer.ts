import { fromBinary } from "@bufbuild/protobuf";
import type { Bus, BusMessage } from "@muster/bus";
import type { Database } from "@muster/db";
import { counter, histogram, type Logger, uuidv7, zeroUuid } from "@muster/kit";
import { type AuditEvent, AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { mayEmit } from "../rules/emitters.ts";
import { type Entry, entryOf, UnsealableError } from "../rules/entry.ts";
import { type Rejected, sealBatch } from "../store/seal.ts";

type Deps = { db: Database; log: Logger; now: () => Date; batchRows: number; batchBytes: number };

const sealedRows = counter("audit_sealed_total", "Rows sealed into their chains");
const rejectedRows = counter("audit_rejected_total", "Audit events that could not be sealed", ["service"]);
const batchRows = histogram(
  "audit_seal_batch_rows",
  "Messages in a sealed batch",
  [],
  [1, 2, 5, 10, 50, 100, 250, 500],
);

/** One durable per partition, one batch in flight each over all replicas. */
export async function startSealer(bus: Bus, deps: Deps): Promise<{ stop(): Promise<void> }> {
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
        onPoison: async (message, reason) => {
          await sealMessages(deps, [message], reason);
        },
      },
      (batch) => sealMessages(deps, batch),
    ),
  );
  return {
    async stop() {
      await Promise.all(consumers.map((c) => c.stop()));
    },
  };
}

/** Seals what can be sealed; what cannot goes to the dead letters and leaves an `audit.event.rejected` row in its place. */
export async function sealMessages(deps: Deps, batch: readonly BusMessage[], poison?: string): Promise<void> {
  const entries: Entry[] = [];
  const rejected: Rejected[] = [];
  const now = deps.now();
  for (const message of batch) {
    const service = message.subject.split(".")[1] ?? "";
    const { entry, event, reason } = poison ? refuse(message, poison) : read(message, service, now);
    if (entry) entries.push(entry);
    else {
      rejectedRows.inc({ service });
      deps.log.error({ subject: message.subject, msgId: message.msgId, reason }, "audit event rejected");
      rejected.push({ ...message, reason });
      entries.push(rejectionEntry(message, event, reason, service, now));
    }
  }
  sealedRows.inc(await sealBatch(deps.db, entries, rejected));
  batchRows.observe(batch.length);
}

type Reading = { entry: Entry | null; event: AuditEvent | null; reason: string };

function read(message: BusMessage, service: string, now: Date): Reading {
  let event: AuditEvent | null = null;
  try {
    event = fromBinary(AuditEventSchema, message.body);
    if (!mayEmit(service, event.action)) return { entry: null, event, reason: `${service} may not emit this action` };
    return { entry: entryOf(event, now), event, reason: "" };
  } catch (error) {
    const reason = error instanceof UnsealableError ? error.message : `not decodable: ${(error as Error).message}`;
    return { entry: null, event, reason };
  }
}

function refuse(message: BusMessage, reason: string): Reading {
  try {
    return { entry: null, event: fromBinary(AuditEventSchema, message.body), reason };
  } catch (error) {
    return { entry: null, event: null, reason: `${reason}; not decodable: ${(error as Error).message}` };
  }
}

/** The row that says an event was refused, in the event's own chain where that can be told. */
function rejectionEntry(m: BusMessage, event: AuditEvent | null, reason: string, service: string, now: Date): Entry {
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
  const [chain = "", id = ""] = m.msgId.split("/");
  const tenant = event && uuid.test(event.orgId || event.partnerId) && mayEmit(service, event.action) ? event : null;
  const orgId = tenant?.orgId && uuid.test(tenant.orgId) ? tenant.orgId.toLowerCase() : null;
  const partnerId = tenant?.partnerId && uuid.test(tenant.partnerId) ? tenant.partnerId.toLowerCase() : null;
  return {
    id: uuid.test(id) ? id.toLowerCase() : uuidv7(now.getTime()),
    chainId: orgId ?? partnerId ?? zeroUuid,
    orgId,
    partnerId,
    timestamp: now,
    actorType: "system",
    actorId: zeroUuid,
    actorEmail: null,
    actorName: "audit",
    actorRole: null,
    actorDepartment: null,
    sessionId: null,
    action: "audit.event.rejected",
    resourceType: "audit_event",
    resourceId: zeroUuid,
    resourceName: null,
    details: { rawActorId: "audit", subject: m.subject, chain: chain.slice(0, 64), reason: reason.slice(0, 500) },
    ipAddress: null,
    userAgent: null,
    result: "failure",
    errorMessage: reason.slice(0, 500),
  };
}
