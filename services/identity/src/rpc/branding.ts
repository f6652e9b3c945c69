import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, type CallContext } from "@muster/kit";
import type { BrandingService } from "@muster/proto/muster/identity/v1/branding_pb";
import { LoginBrandingSchema } from "@muster/proto/muster/identity/v1/sso_login_pb";
import { callContext } from "@muster/rpc";
import { auditEvent, changesBetween, requirePermission, requireScope, requireUser } from "@muster/service";
import type { RoleDeps } from "../deps.ts";
import { type Branding, newBranding } from "../rules/sso/branding.ts";
import { findBranding, putBranding } from "../store/sso/branding.ts";

/** Branding of a partner's sign-in page. */
export function brandingService({ db, now }: Pick<RoleDeps, "db" | "now">): ServiceImpl<typeof BrandingService> {
  return {
    async getLoginBranding(_request, handler) {
      const context = callContext(handler);
      const partnerId = ownPartner(context);
      return { branding: brandingMessage(await findBranding(db, context, partnerId)) };
    },

    async putLoginBranding({ branding }, handler) {
      const context = callContext(handler);
      const partnerId = ownPartner(context);
      requirePermission(context, "partner:policy");
      const wanted = newBranding({
        logoUrl: branding?.logoUrl ?? "",
        accentColor: branding?.accentColor ?? "",
        headline: branding?.headline ?? "",
      });
      const before = await findBranding(db, context, partnerId);
      await db.tx(context, async (tx) => {
        const at = now();
        await putBranding(tx, partnerId, wanted, at);
        const details = changesBetween(shown(before), shown(wanted));
        const resource = { type: "login_branding", id: partnerId, name: null };
        tx.emit(
          auditEvent(
            "identity",
            context,
            { action: "sso.branding.update", resource, orgId: null, partnerId, details },
            at,
          ),
        );
      });
      return { branding: brandingMessage(wanted) };
    },
  };
}

function ownPartner(context: CallContext): string {
  requireUser(context);
  requireScope(context, "partner");
  const { partnerId } = context.caller;
  if (partnerId === null) throw new AppError("misconfigured_account", "Misconfigured account");
  return partnerId;
}

/** An image in a data: URL is too large for an audit row. */
const shown = ({ logo_url, ...rest }: Branding) => ({
  logo_url: logo_url?.startsWith("data:") ? `${logo_url.slice(0, 32)}… (${logo_url.length} characters)` : logo_url,
  ...rest,
});

export const brandingMessage = ({ logo_url, accent_color, headline }: Branding) =>
  create(LoginBrandingSchema, { logoUrl: logo_url ?? "", accentColor: accent_color ?? "", headline: headline ?? "" });
