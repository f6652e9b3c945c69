import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, type CallContext, isUuid, systemCaller } from "@muster/kit";
import type { SsoLinkService } from "@muster/proto/muster/identity/v1/sso_link_pb";
import { callContext } from "@muster/rpc";
import { requireOwnFactor, signedInUser } from "../commands/complete-factor.ts";
import { startLoginFlow } from "../commands/sso/start-login-flow.ts";
import type { SsoDeps } from "../deps.ts";
import { userEvent } from "../emits/audit.ts";
import { ownerOf } from "../rules/owner.ts";
import type { PrincipalRow } from "../rules/principal.ts";
import { deleteLink, hasPassword, lockLinks } from "../store/sso/identities.ts";
import { listLinkable, readProvider } from "../store/sso/providers.ts";
import { providerNotFound } from "./sso-provider.ts";

/** Links of one's own account. */
export function ssoLinkService(deps: SsoDeps): ServiceImpl<typeof SsoLinkService> {
  const { db, now } = deps;
  const ownUser = async (context: CallContext) => {
    const user = await signedInUser(deps, context);
    requireOwnFactor(deps.factors, context, user.principal);
    return user;
  };
  /** Providers of the user's own tenant; those in testing are for their administrators only. */
  const optionsOf = async ({ partner_id, org_id, permissions, site_restricted, user_id }: PrincipalRow) => {
    if (partner_id === null) return [];
    const administers = permissions.includes("organizations:write") && !site_restricted;
    const statuses = administers ? ["active", "testing"] : ["active"];
    return listLinkable(db, ownerOf({ partner_id, org_id }), statuses, user_id);
  };

  return {
    async listSsoLinks(_request, handler) {
      const { principal } = await ownUser(callContext(handler));
      return { options: await optionsOf(principal) };
    },

    async startSsoLink({ providerId }, handler) {
      const context = callContext(handler);
      const { principal, sessionId } = await ownUser(context);
      const isOption = (await optionsOf(principal)).some(({ id }) => id === providerId);
      const provider = isOption ? await readProvider(db, providerId) : null;
      if (!provider) throw providerNotFound();
      return startLoginFlow(deps, context, provider, { kind: "link", userId: principal.user_id, sessionId });
    },

    async removeSsoLink({ providerId }, handler) {
      const context = callContext(handler);
      const { principal } = await ownUser(context);
      const userId = principal.user_id;
      const byPassword = !principal.sso_enforced && (await hasPassword(db, userId));
      await db.tx({ ...context, caller: systemCaller("identity") }, async (tx) => {
        const links = await lockLinks(tx, userId);
        const link = links.find((each) => each.provider_id === providerId);
        if (!isUuid(providerId) || !link) throw providerNotFound();
        const others = links.filter((each) => each !== link && each.is_active);
        if (!byPassword && others.length === 0) {
          throw new AppError("last_sign_in_method", "This is the account's only sign-in method");
        }
        await deleteLink(tx, providerId, userId);
        const details = { providerId, providerName: link.provider_name };
        tx.emit(userEvent(context, principal, { action: "sso.identity.unlink", details }, now()));
      });
      return {};
    },
  };
}
