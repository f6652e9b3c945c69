import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, type CallContext, isErrorCode, validationError } from "@muster/kit";
import type { RefusalService } from "@muster/proto/muster/identity/v1/refusal_pb";
import { callContext } from "@muster/rpc";
import { findApiKey } from "../store/api-keys.ts";
import { findEnrollmentKey } from "../store/enrollment-keys.ts";
import { findRole } from "../store/roles.ts";
import { findServicePrincipal } from "../store/service-principals.ts";
import { findUser } from "../store/users.ts";
import { noteRefusal, type Owned, type RefusalDeps, refusedCodes } from "./audit-refusals.ts";

type Find = (context: CallContext, id: string) => Promise<Owned | null>;

/** Codes that gateways return themselves: permission, second factor, API keys where a user is required. */
export function refusalService(deps: RefusalDeps): ServiceImpl<typeof RefusalService> {
  const { db } = deps;
  const finders: Readonly<Record<string, Find>> = {
    api_key: (context, id) => findApiKey(db, context, id),
    enrollment_key: (context, id) => findEnrollmentKey(db, context, id),
    service_principal: (context, id) => findServicePrincipal(db, context, id),
    user: (context, id) => findUser(db, context, id),
    role: (context, id) => findRole(db, context, id),
  };
  return {
    async noteRefusal({ action, code, id }, handler) {
      const context = callContext(handler);
      const [kind = "", word = ""] = action.split(".");
      const find = Object.hasOwn(finders, kind) ? finders[kind] : undefined;
      if (!find || !/^[a-z_]{1,40}$/.test(word)) throw validationError({ action: ["Not a change of identity"] });
      if (!isErrorCode(code) || !refusedCodes.has(code)) throw validationError({ code: ["Not a refusal"] });
      if (context.caller.actor.type === "system") throw new AppError("permission_denied", "Nobody was refused");
      await noteRefusal(deps, context, { action, find }, { id }, new AppError(code, "Refused by the gateway"));
      return {};
    },
  };
}
