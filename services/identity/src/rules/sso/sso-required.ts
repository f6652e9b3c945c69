import { AppError } from "@muster/kit";

/** Where the users of a tenant sign in through its provider, below the public address. */
export const loginPath = ({ partnerId, orgId }: { partnerId: string | null; orgId: string | null }) =>
  orgId === null ? `/api/v1/sso/login/partner/${partnerId}` : `/api/v1/sso/login/${orgId}`;

/** A password is useless to a user whose sign-in a provider governs. */
export const ssoRequired = (user: { partner_id: string | null; org_id: string | null }) =>
  new AppError("sso_required", "Your organization requires single sign-on", {
    facts: { loginUrl: loginPath({ partnerId: user.partner_id, orgId: user.org_id }) },
  });
