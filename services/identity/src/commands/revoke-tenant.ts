import type { Tx } from "@muster/db";
import type { CallContext, Caller, RequestMeta } from "@muster/kit";
import type {
  RevokeTenantCredentialsRequest,
  RevokeTenantCredentialsResponse,
} from "@muster/proto/muster/identity/v1/api_key_pb";
import { auditEvent } from "@muster/service";
import type { KeyDeps } from "../deps.ts";
import { afterChange, announce } from "../emits/changes.ts";
import { recordFact } from "../emits/key-facts.ts";
import { recordDomain } from "../emits/sso-facts.ts";
import { ownerOf } from "../rules/owner.ts";
import { forgetDomainProofs } from "../store/addresses.ts";
import { revokeTenantApiKeys, type Tenant } from "../store/api-keys.ts";
import { endTenantApproved } from "../store/device-authorizations.ts";
import { deleteTenantDirectoryTokens } from "../store/directory/tokens.ts";
import { endTenantEnrollmentKeys } from "../store/enrollment-keys.ts";
import { disableTenantPrincipals } from "../store/service-principals.ts";
import { revokeTenantSessions } from "../store/sessions.ts";
import { deleteTenantDomains } from "../store/sso/domains.ts";
import { organizationInScope, partnerInScope } from "./tenant-in-scope.ts";

type Revoked = Omit<RevokeTenantCredentialsResponse, "$typeName" | "$unknown">;

/**
 * Revokes all keys of a tenant, disables its principals, ends its enrollment keys, its directories' tokens and its
 * users' sessions in the given transaction: an audit row per key and principal, and one message to the gateways in
 * total. Verified domains end only with the tenant's deletion. So do agents' tokens, since an agent without a token
 * cannot return without manual work at its device; they are not touched here, however many there are: `resolveAgent`
 * refuses those of a deleted tenant, and the purge deletes them.
 */
export async function revokeTenant(
  tx: Tx,
  who: { caller: Caller; meta: RequestMeta },
  tenant: Tenant,
  reason: "requested" | "tenant_deleted",
  now: Date,
): Promise<{ revoked: Revoked; change: string }> {
  const principals = await disableTenantPrincipals(tx, tenant, now);
  const keys = await revokeTenantApiKeys(tx, tenant, now);
  const enrollmentKeys = await endTenantEnrollmentKeys(tx, tenant, now);
  const directoryTokens = await deleteTenantDirectoryTokens(tx, tenant);
  if (reason === "tenant_deleted") {
    for (const row of await deleteTenantDomains(tx, tenant)) {
      const before = { domain: row.domain, verified: row.verified_at !== null };
      if (before.verified) await forgetDomainProofs(tx, row.domain, ownerOf(row));
      recordDomain(tx, who, row, "sso.domain.delete", { reason, changes: { before, after: {} } }, now);
    }
  }
  for (const principal of principals) {
    recordFact(tx, who, principal, { action: "service_principal.disable", details: { reason } }, now);
  }
  for (const key of keys) {
    const details = { keyPrefix: key.key_prefix, reason };
    recordFact(tx, who, key, { action: "api_key.revoke", details }, now);
  }
  await endTenantApproved(tx, tenant);
  const sessions = await revokeTenantSessions(tx, tenant, reason, now);
  const change = announce(tx, { kind: "tenant", tenant: tenant.kind, id: tenant.id, revokedAt: now });
  const revoked = {
    apiKeys: keys.length,
    servicePrincipals: principals.length,
    enrollmentKeys,
    sessions,
    directoryTokens,
  };
  return { revoked, change };
}

/** Revokes everything of a tenant for a system caller, or for a partner caller within their own partner. */
export async function revokeTenantCredentials(
  deps: KeyDeps,
  context: CallContext,
  { tenant: requested }: Pick<RevokeTenantCredentialsRequest, "tenant">,
): Promise<Revoked> {
  const owner =
    requested.case === "partnerId"
      ? { partnerId: await partnerInScope(deps, context, requested.value), orgId: null }
      : await organizationInScope(deps, context, requested.value ?? "");
  const { orgId, partnerId } = owner;
  const tenant: Tenant = orgId ? { kind: "organization", id: orgId } : { kind: "partner", id: partnerId };
  const { revoked, change } = await deps.db.tx(context, async (tx) => {
    const now = deps.now();
    const done = await revokeTenant(tx, context, tenant, "requested", now);
    const resource = { type: tenant.kind, id: tenant.id, name: null };
    const action = `${tenant.kind}.credentials.revoke`;
    tx.emit(auditEvent("identity", context, { action, resource, ...owner, details: { ...done.revoked } }, now));
    return done;
  });
  await afterChange(deps, [change]);
  return revoked;
}
