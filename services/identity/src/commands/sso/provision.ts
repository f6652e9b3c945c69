import type { Tx } from "@muster/db";
import { type CallContext, systemCaller } from "@muster/kit";
import { userEvent } from "../../emits/audit.ts";
import { ownerOf } from "../../rules/owner.ts";
import { principalCaller } from "../../rules/principal.ts";
import type { Addressed } from "../../rules/sso/claims.ts";
import { mayProvision } from "../../rules/sso/may-provision.ts";
import type { ProviderRow } from "../../rules/sso/provider.ts";
import { readPrincipal } from "../../store/principals.ts";
import { readRole } from "../../store/roles.ts";
import { insertProvisioned } from "../../store/sso/identities.ts";
import { claimAddress } from "../claim-address.ts";

/**
 * Creates an account with the provider's default role, under the lock of the partner's administration. Otherwise
 * returns the reason, and nothing was written: somebody else owns the address, or the user who saved the role may no
 * longer grant it, and no account is created until an entitled user saves it again.
 */
export async function provision(
  tx: Tx,
  context: CallContext,
  provider: ProviderRow,
  { email, name }: Addressed,
  id: string,
  now: Date,
): Promise<{ userId: string } | { reason: "default_role_invalid" | "domain_not_allowed" }> {
  const owner = ownerOf(provider);
  const system = systemCaller("identity");
  const role = provider.default_role_id === null ? null : await readRole(tx, system, provider.default_role_id);
  const by = provider.default_role_by === null ? null : await readPrincipal(tx, provider.default_role_by);
  if (!role || !by || !mayProvision({ caller: principalCaller(by), status: by.status }, role, owner)) {
    return { reason: "default_role_invalid" };
  }
  const shown = name ?? email.slice(0, email.lastIndexOf("@"));
  const who = { ...context, caller: system };
  const claim = { email, by: owner, evidence: "none" as const };
  const claimed = await claimAddress(tx, who, { userId: id, name: shown, tenant: owner }, claim, now);
  if (!claimed) return { reason: "domain_not_allowed" };
  await insertProvisioned(tx, id, claimed, { name: shown, owner, roleId: role.id }, now);
  const user = { user_id: id, name: shown, org_id: owner.orgId, partner_id: owner.partnerId };
  const after = { email, name: shown, scope: "organization", roleId: role.id, role: role.key ?? role.name };
  const details = {
    method: "sso",
    providerId: provider.id,
    providerName: provider.name,
    emailProof: claimed.proof,
    changes: { before: {}, after },
  };
  tx.emit(userEvent(who, user, { action: "user.create", details }, now));
  return { userId: id };
}
