import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, type CallContext } from "@muster/kit";
import {
  type RetentionPolicy as PolicyMessage,
  RetentionPolicySchema,
  type RetentionService,
} from "@muster/proto/muster/audit/v1/retention_pb";
import { callContext } from "@muster/rpc";
import { auditEvent, requireMfa, requirePermission, type TenantReader } from "@muster/service";
import { changedPolicy, inForce, type RetentionPolicy } from "../rules/retention.ts";
import { readableRange } from "../store/logs.ts";
import { findPolicy, isDeleted, lockPolicy, type StoredPolicy, storePolicy } from "../store/policies.ts";
import { tenantOfChain } from "../store/proof.ts";
import { orgIdOf } from "./log-messages.ts";

type Deps = TenantReader & { mfaMaxAgeMinutes: number; now: () => Date };

/** How long an organization's rows are kept. */
export function retentionService(deps: Deps): ServiceImpl<typeof RetentionService> {
  const { db, mfaMaxAgeMinutes, now } = deps;
  return {
    async getRetention(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:write");
      const orgId = await organizationOf(context, request.orgId);
      return { policy: toMessage(orgId, await findPolicy(db, context, orgId)) };
    },

    async updateRetention(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:write");
      requireMfa(context, mfaMaxAgeMinutes, now());
      const { retentionDays = null, archiveToS3 = null } = request;
      const orgId = await organizationOf(context, request.orgId);
      const partnerId = context.caller.partnerId ?? (await tenantOfChain(db, context, orgId)).partnerId;
      // A deleted organization's data is readable by system callers, and its policy cannot be changed.
      if (!partnerId || (await isDeleted(db, context, orgId))) {
        throw new AppError("organization_not_found", "Organization not found");
      }
      const policy = await db.tx(context, async (tx) => {
        const before = await lockPolicy(tx, orgId, partnerId);
        const after = changedPolicy(before, { retentionDays, archiveToS3 }, before.now);
        await storePolicy(tx, orgId, after);
        const changes = { before: shown(inForce(before, before.now)), after: shown(after) };
        tx.emit(
          auditEvent("audit", context, {
            action: "audit.retention.update",
            resource: { type: "audit_retention", id: orgId, name: null },
            orgId,
            partnerId,
            details: { changes: onlyChanged(changes) },
          }),
        );
        return { ...before, ...after };
      });
      return { policy: toMessage(orgId, policy) };
    },
  };

  async function organizationOf(context: CallContext, requestedId: string): Promise<string> {
    const orgId = orgIdOf(requestedId) ?? context.caller.orgId;
    if (!orgId) throw new AppError("organization_context_required", "Organization context required");
    await readableRange(deps, context, orgId);
    return orgId;
  }
}

function shown({ retentionDays, archiveToS3, pending }: RetentionPolicy): Record<string, unknown> {
  return {
    retentionDays,
    archiveToS3,
    pendingRetentionDays: pending?.retentionDays ?? null,
    pendingFrom: pending?.from.toISOString() ?? null,
  };
}

/** The differing fields; all of them when none differs: the row then shows the confirmed request. */
function onlyChanged({ before, after }: { before: Record<string, unknown>; after: Record<string, unknown> }) {
  const names = Object.keys(after).filter((name) => before[name] !== after[name]);
  if (names.length === 0) return { before, after };
  const pick = (from: Record<string, unknown>) => Object.fromEntries(names.map((name) => [name, from[name]]));
  return { before: pick(before), after: pick(after) };
}

function toMessage(orgId: string, stored: StoredPolicy): PolicyMessage {
  const { retentionDays, archiveToS3, pending } = inForce(stored, stored.now);
  return create(RetentionPolicySchema, {
    orgId,
    retentionDays,
    archiveToS3,
    ...(stored.lastCleanupAt ? { lastCleanupAt: timestampFromDate(stored.lastCleanupAt) } : {}),
    ...(pending ? { pendingRetentionDays: pending.retentionDays, pendingFrom: timestampFromDate(pending.from) } : {}),
  });
}
