import { AppError } from "@muster/kit";

/** Where the people of a place sign in through its provider, below the public address. */
export const loginPath = ({ partnerId, orgId }: { partnerId: string | null; orgId: string | null }) =>
  orgId === null ? `/api/v1/sso/login/partner/${partnerId}` : `/api/v1/sso/login/${orgId}`;

/** A password is useless to a user whose sign-in a provider governs. */
export const ssoRequired = (person: { partner_id: string | null; org_id: string | null }) =>
  new AppError("sso_required", "Your organization requires single sign-on", {
    facts: { loginUrl: loginPath({ partnerId: person.partner_id, orgId: person.org_id }) },
  });
