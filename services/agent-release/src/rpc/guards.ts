import { AppError, type CallContext, systemCaller } from "@muster/kit";
import { requireMfa, requirePermission, requireScope } from "@muster/service";
import { service } from "../config.ts";

/** Only gateways ask for agents. */
export function requireGateway({ caller: { actor } }: CallContext): void {
  if (actor.type !== "system" || actor.id !== "gateway")
    throw new AppError("permission_denied", "Only gateways may ask this");
}

/** People of the platform, for what changes the catalogue. */
export function requirePlatform(context: CallContext, mfaMaxAgeMinutes: number): void {
  requirePermission(context, "platform:admin");
  requireScope(context, "system");
  requireMfa(context, mfaMaxAgeMinutes);
}

/** The same call as the service itself, for tables that are the platform's: whoever may ask was checked before. */
export function asService(context: CallContext): CallContext {
  return {
    caller: systemCaller(service),
    meta: context.meta,
    deadlineMs: context.deadlineMs,
    get signal() {
      return context.signal;
    },
  };
}
