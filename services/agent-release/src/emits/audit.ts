import type { Tx } from "@muster/db";
import { type CallContext, ownMeta, systemCaller } from "@muster/kit";
import { type AuditFact, auditEvent } from "@muster/service";
import { service } from "../config.ts";

type Who = Pick<CallContext, "caller" | "meta">;

/** The service itself, as the actor of automatic changes. */
export function asItself(): Who {
  const meta = ownMeta();
  return { caller: systemCaller(service), meta };
}

type ReleaseFact = { action: string; id: string; name: string; details?: Record<string, unknown> };

/** Emits an audit row of the platform's chain. */
export function auditRelease(tx: Tx, who: Who, fact: ReleaseFact, at: Date): void {
  const { action, id, name, details = {} } = fact;
  const resource = { type: action.startsWith("agent_version.") ? "agent_version" : "rollout", id, name };
  tx.emit(auditEvent(service, who, { action, resource, orgId: null, partnerId: null, details }, at));
}

/** As auditRelease, for a template of rollouts. */
export function auditTemplate(tx: Tx, who: Who, { action, id, name, details = {} }: ReleaseFact, at: Date): void {
  const resource = { type: "rollout_template", id, name };
  tx.emit(auditEvent(service, who, { action, resource, orgId: null, partnerId: null, details }, at));
}

/** Emits an audit row of a tenant's chain. */
export function auditTenant(tx: Tx, who: Who, fact: AuditFact, at: Date): void {
  tx.emit(auditEvent(service, who, fact, at));
}
