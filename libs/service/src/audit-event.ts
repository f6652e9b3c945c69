import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { OutboxMessage } from "@muster/db";
import { type Caller, type PortalSession, type RequestMeta, uuidv7, zeroUuid } from "@muster/kit";
import { AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { encode } from "@muster/rpc";
import { type AuditTarget, targetsIn } from "./audit-targets.ts";

export type AuditFact = {
  /** A UUID of the one who reports it; without it, a new one. */
  id?: string;
  action: string;
  resource: { type: string; id: string; name: string | null };
  /** What it is about besides the resource; without it, the records that `details` name by their ids. */
  targets?: readonly AuditTarget[];
  /** Where the fact belongs; decides the chain: organization, else partner, else the platform. */
  orgId: string | null;
  partnerId: string | null;
  /** JSON object; before/after values under `changes`. Never a secret. */
  details?: Record<string, unknown>;
  result?: "success" | "failure" | "denied";
  errorMessage?: string;
};

/** The chain's partition, 0..15: subjects and sealers are split by it. */
export function auditPartition(chainId: string): number {
  return Number.parseInt(chainId.slice(-1), 16);
}

/** The portal link through which a change came, and who created it. */
const viaOf = ({ linkId, author }: PortalSession) => ({ type: "portal_link", id: linkId, author });

const linkOf = ({ linkId }: PortalSession): AuditTarget => ({ type: "portal_link", id: linkId, name: null });

/** Builds the outbox row of an audited fact; emit it in the transaction that makes the fact true. */
export function auditEvent(
  service: string,
  who: { caller: Caller; meta: RequestMeta },
  fact: AuditFact,
  now: Date = new Date(),
): OutboxMessage {
  const { actor, sessionId, portal } = who.caller;
  const chainId = fact.orgId ?? fact.partnerId ?? zeroUuid;
  const id = fact.id ?? uuidv7(now.getTime());
  const details = { ...fact.details, ...(portal ? { via: viaOf(portal) } : {}) };
  const targets = [...(fact.targets ?? targetsIn(details, fact.resource)), ...(portal ? [linkOf(portal)] : [])];
  const body = encode(AuditEventSchema, {
    id,
    timestamp: timestampFromDate(now),
    chainId,
    orgId: fact.orgId ?? "",
    partnerId: fact.partnerId ?? "",
    actorType: portal ? "system" : actor.type,
    actorId: actor.id,
    actorEmail: actor.email ?? "",
    actorName: actor.name ?? "",
    actorRole: actor.role ?? "",
    actorDepartment: actor.department ?? "",
    sessionId: sessionId ?? "",
    action: fact.action,
    resourceType: fact.resource.type,
    resourceId: fact.resource.id,
    resourceName: fact.resource.name ?? "",
    detailsJson: JSON.stringify(details),
    ipAddress: who.meta.clientAddress ?? "",
    userAgent: who.meta.userAgent ?? "",
    result: fact.result ?? "success",
    errorMessage: fact.errorMessage ?? "",
    targets: targets.map(({ type, id: targetId, name }) => ({ type, id: targetId, name: name ?? "" })),
  });
  return {
    subject: `audit.${service}.${auditPartition(chainId)}`,
    msgId: `${chainId}/${id}`,
    body,
    traceparent: who.meta.traceparent,
  };
}
