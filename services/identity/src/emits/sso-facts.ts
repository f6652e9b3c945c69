import type { Tx } from "@muster/db";
import { type CallContext, type Caller, counter, type RequestMeta, systemCaller, uuidv7 } from "@muster/kit";
import { auditEvent } from "@muster/service";
import type { ProviderRow } from "../rules/sso/provider.ts";
import type { Step } from "../rules/sso/reasons.ts";
import { countRefusal } from "../store/refusals.ts";
import { insertAttempt } from "../store/sso/attempts.ts";
import type { DomainRow } from "../store/sso/domains.ts";

type Who = { caller: Caller; meta: RequestMeta };

const signIns = counter("muster_identity_sso_logins_total", "Login flows through identity providers by outcome.", [
  "type",
  "outcome",
  "reason",
]);

export type ProviderAction =
  `sso.provider.${"create" | "update" | "delete" | "status.update" | "test" | "keys.rotate" | "certificates.expiring"}`;

/** Writes the audit row of something that was done to a provider, in the chain of its owner. */
export function recordProvider(
  tx: Tx,
  who: Who,
  row: Pick<ProviderRow, "id" | "name" | "org_id" | "partner_id">,
  action: ProviderAction,
  details: Record<string, unknown>,
  now: Date,
): void {
  const resource = { type: "sso_provider", id: row.id, name: row.name };
  tx.emit(
    auditEvent("identity", who, { action, resource, orgId: row.org_id, partnerId: row.partner_id, details }, now),
  );
}

/** Audits a change of a domain. */
export function recordDomain(
  tx: Tx,
  who: Who,
  row: Pick<DomainRow, "id" | "domain" | "org_id" | "partner_id">,
  action: `sso.domain.${"create" | "verify" | "delete"}`,
  details: Record<string, unknown>,
  now: Date,
): void {
  const resource = { type: "sso_domain", id: row.id, name: row.domain };
  tx.emit(
    auditEvent("identity", who, { action, resource, orgId: row.org_id, partnerId: row.partner_id, details }, now),
  );
}

/** How a login flow ended. */
export type LoginFlowOutcome = {
  kind: "login" | "link";
  step: Step;
  reason: string | null;
  detail: string | null;
  email: string | null;
};

/**
 * Records a login flow's outcome for the provider's administrators; a failure is audited, once per reason and minute.
 * Resolves to the id of the attempt.
 */
export async function recordLoginFlowOutcome(
  tx: Tx,
  { meta }: Pick<CallContext, "meta">,
  provider: ProviderRow,
  { kind, step, reason, detail, email }: LoginFlowOutcome,
  now: Date,
): Promise<string> {
  const id = uuidv7(now.getTime());
  const outcome = reason === null ? "success" : "failure";
  signIns.inc({ type: provider.type, outcome, reason: reason ?? "" });
  await insertAttempt(tx, {
    id,
    provider_id: provider.id,
    partner_id: provider.partner_id,
    org_id: provider.org_id,
    kind,
    outcome,
    step,
    reason,
    detail,
    email,
    address: meta.clientAddress,
    user_agent: meta.userAgent,
    request_id: meta.requestId,
    created_at: now,
  });
  if (reason === null || !(await countRefusal(tx, provider.id, `user.login.failed/${reason}`, now))) return id;
  tx.emit(
    auditEvent(
      "identity",
      { caller: systemCaller("identity"), meta },
      {
        action: "user.login.failed",
        resource: { type: "sso_provider", id: provider.id, name: provider.name },
        orgId: provider.org_id,
        partnerId: provider.partner_id,
        details: { method: "sso", providerId: provider.id, kind, step, reason, ...(email === null ? {} : { email }) },
        result: "failure",
        errorMessage: reason,
      },
      now,
    ),
  );
  return id;
}

/** A login flow that ended before its provider was known. */
export function countUnknownLoginFlow(reason: string): void {
  signIns.inc({ type: "unknown", outcome: "failure", reason });
}
