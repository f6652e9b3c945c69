import { connectionOwner } from "@muster/db";
import { AppError, type CallContext, systemCaller } from "@muster/kit";
import { requireMfa, requirePermission, requireScope } from "@muster/service";
import { service } from "../config.ts";

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
