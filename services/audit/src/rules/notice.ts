import { createHash } from "node:crypto";
import { isUuid, zeroUuid } from "@muster/kit";
import type { AuditEvent } from "@muster/proto/muster/events/v1/audit_pb";
import { mayEmit } from "./emitters.ts";
import { clean, type Entry } from "./entry.ts";

type Refused = { subject: string; msgId: string; body: Uint8Array };

/**
 * The row that records a refused event: in the event's own chain if its service may emit there, else in the platform's.
 * The same message yields the same id, so that a repeat is detected.
 */
export function noticeOf(
  refused: Refused,
  event: AuditEvent | null,
  reason: string,
  service: string,
  now: Date,
): Entry {
  const [chain = "", id = ""] = refused.msgId.split("/");
  const tenant = event && mayEmit(service, event) ? event : null;
  const orgId = tenant && isUuid(tenant.orgId) ? tenant.orgId.toLowerCase() : null;
  const partnerId = tenant && isUuid(tenant.partnerId) ? tenant.partnerId.toLowerCase() : null;
  return {
    id: isUuid(id) ? id.toLowerCase() : idFrom(refused),
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
    details: {
      rawActorId: "audit",
      subject: clean(refused.subject, 255),
      chain: clean(chain, 64),
      reason: clean(reason, 500),
    },
    ipAddress: null,
    userAgent: null,
    result: "failure",
    errorMessage: clean(reason, 500),
  };
}

/** A UUID (version 8, RFC 9562) from what the message is. */
function idFrom({ subject, msgId, body }: Refused): string {
  const hash = createHash("sha256").update(`${subject}\n${msgId}\n`).update(body).digest();
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x80, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  return hash.toString("hex", 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
