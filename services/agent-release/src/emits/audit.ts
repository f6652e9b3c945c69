import type { Tx } from "@muster/db";
import { type CallContext, ownMeta, systemCaller } from "@muster/kit";
import { type AuditFact, auditEvent } from "@muster/service";
import { service } from "../config.ts";
import { fieldNames, type Settings, shownValue } from "../rules/settings.ts";

type Who = Pick<CallContext, "caller" | "meta">;

/** The service itself, as the actor of automatic changes. */
export function asItself(): Who {
  const meta = ownMeta();
  return { caller: systemCaller(service), meta };
}

type ReleaseFact = {
  action: string;
  id: string;
  name: string;
  /** Partner in whose chain the row is; absent: the platform's. */
  partnerId?: string | null;
  details?: Record<string, unknown>;
};

/** Emits an audit row about a release, or about a rollout of the platform or of a partner. */
export function auditRelease(tx: Tx, who: Who, fact: ReleaseFact, at: Date): void {
  const { action, id, name, partnerId = null, details = {} } = fact;
  const resource = { type: action.startsWith("agent_version.") ? "agent_version" : "rollout", id, name };
  tx.emit(auditEvent(service, who, { action, resource, orgId: null, partnerId, details }, at));
}

/** Emits the audit row of changed settings, of an organization or of a partner (orgId null). */
export function auditSettings(
  tx: Tx,
  who: Who,
  of: { partnerId: string; orgId: string | null },
  { before, after }: { before: Settings; after: Settings },
  at: Date,
): void {
  const { partnerId, orgId } = of;
  const shown = (settings: Settings): Record<string, unknown> => ({
    ...Object.fromEntries(fieldNames.map((name) => [name, shownValue(name, settings[name])])),
    rollbackNote: settings.rollbackNote ?? null,
  });
  const changes = { before: shown(before), after: shown(after) };
  const names = [...fieldNames, "rollbackNote"] as const;
  const changedFields = names.filter(
    (name) => JSON.stringify(changes.before[name]) !== JSON.stringify(changes.after[name]),
  );
  if (changedFields.length === 0) return;
  const resource = { type: orgId === null ? "partner" : "organization", id: orgId ?? partnerId, name: null };
  const details = { changedFields, changes };
  auditTenant(tx, who, { action: "agent_update.settings.update", resource, orgId, partnerId, details }, at);
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
