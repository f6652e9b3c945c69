import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, type CallContext } from "@muster/kit";
import { AppendService } from "@muster/proto/muster/audit/v1/append_pb";
import { callContext } from "@muster/rpc";
import { auditEvent, checkedBefore, idempotentTx, requirePermission, type TenantReader } from "@muster/service";
import { type NewEvent, newEvents } from "../rules/appended-event.ts";
import { countAppended, takeIds } from "../store/appended.ts";
import { readableRange } from "../store/logs.ts";
import { isDeleted } from "../store/policies.ts";
import { tenantOfChain } from "../store/proof.ts";
import { orgIdOf } from "./log-messages.ts";

export type AppendDeps = TenantReader & {
  now: () => Date;
  /** Rows that an organization may append on a day (UTC). */
  appendedRowsPerDay: number;
};

/** Events of other programs: in the outbox before the answer, then on the stream AUDIT, then sealed. */
export function appendService(deps: AppendDeps): ServiceImpl<typeof AppendService> {
  const { db, now } = deps;
  return {
    async appendEvents(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:append");
      const at = now();
      const organization = await organizationOf(deps, context, request.orgId);
      const events = newEvents(request.events, at);
      const { method } = AppendService;
      return idempotentTx(db, context, method.appendEvents, request, checkedBefore, async (tx) => {
        const ids = events.map(({ id }) => id);
        const fresh = await takeIds(tx, organization, ids, at);
        if (fresh.size > 0)
          requireRoom(await countAppended(tx, organization, fresh.size, at), deps.appendedRowsPerDay, at);
        for (const event of events) {
          if (fresh.has(event.id)) tx.emit(rowOf(context, organization, event));
        }
        return { ids, repeatedEvents: events.length - fresh.size };
      });
    },
  };
}

/** The sender is the actor, whoever it says has acted. */
function rowOf(context: CallContext, organization: { orgId: string; partnerId: string }, event: NewEvent) {
  const { id, at, action, resource, targets, details, result, errorMessage } = event;
  return auditEvent(
    "audit",
    context,
    { id, action, resource, targets, ...organization, details, result, errorMessage },
    at,
  );
}

function requireRoom(rows: number, limit: number, at: Date): void {
  if (rows <= limit) return;
  const dayMs = 86_400_000;
  throw new AppError("rate_limited", "The organization's own audit events of the day are used up", {
    retryAfterSeconds: Math.ceil((dayMs - (at.getTime() % dayMs)) / 1_000),
    facts: { limit },
  });
}

async function organizationOf(deps: AppendDeps, context: CallContext, requestedId: string) {
  const orgId = orgIdOf(requestedId) ?? context.caller.orgId;
  if (!orgId) throw new AppError("organization_context_required", "Organization context required");
  await readableRange(deps, context, orgId);
  const { partnerId } = await tenantOfChain(deps.db, context, orgId);
  if (!partnerId || (await isDeleted(deps.db, context, orgId))) {
    throw new AppError("organization_not_found", "Organization not found");
  }
  return { orgId, partnerId };
}
