import { fileURLToPath } from "node:url";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { BusMessage } from "@muster/bus";
import { primaryReader, type Reader } from "@muster/db";
import { uuidv7, zeroUuid } from "@muster/kit";
import { AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { auditPartition, type TenantReader, tenantMigrations } from "@muster/service";
import { type TestDatabase, testDatabase } from "@muster/testing";

type EventChange = MessageInitShape<typeof AuditEventSchema>;

/** A migrated database of this service, the copy of tenants included. */
export function auditDatabase(): Promise<TestDatabase> {
  const path = fileURLToPath(new URL("../../migrations/", import.meta.url));
  return testDatabase({ service: "audit", dirs: [tenantMigrations, { label: "audit", path }] });
}

/** Reads that database; no tenancy knows more than its copy. */
export const readerOf = ({ db }: Pick<TestDatabase, "db">): TenantReader & { longReads: Reader } => ({
  db,
  learnTenants: async () => false,
  longReads: primaryReader(db),
});

/** A message of AUDIT as `service` emits it; the chain follows from the tenant. */
export function auditMessage(change: EventChange = {}, service = "tenancy"): BusMessage {
  const event = create(AuditEventSchema, {
    id: uuidv7(),
    timestamp: timestampFromDate(new Date()),
    chainId: change.orgId || change.partnerId || zeroUuid,
    actorType: "user",
    actorId: uuidv7(),
    actorEmail: "ada@example.com",
    action: "site.create",
    resourceType: "site",
    resourceId: uuidv7(),
    detailsJson: '{"changes":{"before":{},"after":{"n":1.50,"big":1e21,"text":"ü😀"}}}',
    ipAddress: "192.0.2.1",
    result: "success",
    ...change,
  });
  return {
    subject: `audit.${service}.${auditPartition(event.chainId)}`,
    msgId: `${event.chainId}/${event.id}`,
    body: toBinary(AuditEventSchema, event),
    streamSeq: 1,
    deliveries: 1,
    traceparent: null,
  };
}
