import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, type CallContext } from "@muster/kit";
import type { SignInPolicyService } from "@muster/proto/muster/identity/v1/sign_in_policy_pb";
import { callContext } from "@muster/rpc";
import {
  auditEvent,
  requireMfa,
  requirePermission,
  requireScope,
  requireUser,
  requireWholeOrganization,
} from "@muster/service";
import { requirePartnerPolicy } from "../commands/sso/owner.ts";
import { organizationInScope } from "../commands/tenant-in-scope.ts";
import type { RoleDeps } from "../deps.ts";
import { afterChange, announce } from "../emits/changes.ts";
import { findSignInPolicy, type PolicyOwner, putSignInPolicy } from "../store/sign-in-policies.ts";

/** What tenants require of their users' sign-ins (docs/behaviour.md#sessions). */
export function signInPolicyService(deps: RoleDeps): ServiceImpl<typeof SignInPolicyService> {
  const { db, now } = deps;
  return {
    async getSignInPolicy({ orgId }, handler) {
      const context = callContext(handler);
      requirePermission(context, "organizations:read");
      return findSignInPolicy(db, context, await ownerOf(deps, context, orgId));
    },

    async putSignInPolicy({ orgId, policy }, handler) {
      const context = callContext(handler);
      requireUser(context);
      requirePermission(context, orgId === "" ? "partner:policy" : "organizations:write");
      requireMfa(context, deps.mfaMaxAgeMinutes, now());
      requireWholeOrganization(context);
      if (orgId === "") requirePartnerPolicy(context);
      const owner = await ownerOf(deps, context, orgId);
      const wanted = { requireSecondFactor: policy?.requireSecondFactor ?? false };
      const change = await db.tx(context, async (tx) => {
        const at = now();
        const before = await putSignInPolicy(tx, owner, wanted, at);
        const kind = owner.orgId === null ? ("partner" as const) : ("organization" as const);
        const id = owner.orgId ?? owner.partnerId;
        const resource = { type: kind, id, name: null };
        const details = { changes: { before, after: wanted } };
        const fact = { action: "user.sign_in_policy.update", resource, ...owner, details };
        tx.emit(auditEvent("identity", context, fact, at));
        return announce(tx, { kind: "policy", tenant: kind, id });
      });
      await afterChange(deps, [change]);
      return findSignInPolicy(db, context, owner);
    },
  };
}

/** The organization, or without one the caller's own partner. Throws `organization_not_found`, `scope_not_allowed`. */
async function ownerOf(deps: RoleDeps, context: CallContext, orgId: string): Promise<PolicyOwner> {
  if (orgId !== "") return organizationInScope(deps, context, orgId);
  requireScope(context, "partner");
  const { partnerId } = context.caller;
  if (partnerId === null) throw new AppError("misconfigured_account", "Misconfigured account");
  return { partnerId, orgId: null };
}
