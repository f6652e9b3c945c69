import { connectionOwner, sql, type Tx } from "@muster/db";
import { AppError, type CallContext, systemCaller } from "@muster/kit";
import { requireMfa, requirePermission, requireScope } from "@muster/service";
import { service } from "../config.ts";
import type { RolloutsOf } from "../store/rollouts.ts";

/** Only gateways call on behalf of agents. */
export function requireGateway({ caller: { actor } }: CallContext): void {
  if (actor.type !== "system" || actor.id !== "gateway")
    throw new AppError("permission_denied", "Only gateways may call this");
}

/** People of the platform, for what changes the catalogue. */
export function requirePlatform(context: CallContext, mfaMaxAgeMinutes: number): void {
  requirePermission(context, "platform:admin");
  requireScope(context, "system");
  requireMfa(context, mfaMaxAgeMinutes);
}

/** Those who change rollouts: people of the platform, and of a partner who reaches all of its organizations. */
export function requireRolloutOperator(context: CallContext, mfaMaxAgeMinutes: number): void {
  requirePermission(context, context.caller.scope === "system" ? "platform:admin" : "partner:policy");
  requireMfa(context, mfaMaxAgeMinutes);
  requireScope(context, "system", "partner");
}

/** What concerns a whole partner needs all of its organizations. Throws `scope_not_allowed`, `site_restricted`. */
export function requireWholePartner({ caller }: CallContext): void {
  if (caller.siteIds !== null) throw new AppError("site_restricted", "Your access is restricted to sites");
  if (caller.scope === "partner" && caller.orgAccess.mode !== "all") {
    throw new AppError("scope_not_allowed", "This operation needs access to all organizations of the partner");
  }
}

/** Of whom a caller changes rollouts; null: the platform. Throws `misconfigured_account`. */
export function ownerOf({ caller }: CallContext): string | null {
  if (caller.scope === "system") return null;
  if (caller.partnerId === null) throw new AppError("misconfigured_account", "Misconfigured account");
  return caller.partnerId;
}

/** Whose rollouts a caller sees besides the platform's. Throws `misconfigured_account`. */
export const visibleTo = (context: CallContext): RolloutsOf => ({ partnerId: ownerOf(context) });

/** The same call as the service itself, for the platform's tables: the caller's rights were checked before. */
export function asService(context: CallContext): CallContext & { actsFor: string | null } {
  return {
    caller: systemCaller(service),
    actsFor: connectionOwner(context),
    meta: context.meta,
    deadlineMs: context.deadlineMs,
    get signal() {
      return context.signal;
    },
  };
}

/** What follows in the transaction of a caller whose rights were checked is read and written as the service itself. */
export async function actAsService(tx: Tx): Promise<void> {
  await tx.execute(sql`SELECT set_config('app.scope', 'system', true)`);
}
