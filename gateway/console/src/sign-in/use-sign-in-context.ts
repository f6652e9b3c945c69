import { useEffect, useState } from "react";
import { call } from "../api/call.ts";
import type { Branding } from "./frame.tsx";

/** `isPartners`: for the partner's own people; those of its organizations find theirs by their e-mail address. */
export type SsoButton = { name: string; loginUrl: string; enforced: boolean; isPartners: boolean };
type Context = { branding: Branding | null; sso: SsoButton | null };

type LoginContext = {
  branding: Branding | null;
  partnerSso: { providerName: string; loginUrl: string; enforceSSO: boolean } | null;
};
type Check = { provider: { name: string } | null; enforceSSO: boolean; loginUrl: string | null };

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Branding and button of the sign-in page, once they are known; without an answer the page works without them. */
export function useSignInContext(orgId: string | null): Context {
  const [context, setContext] = useState<Context>({ branding: null, sso: null });
  useEffect(() => {
    let isHere = true;
    void Promise.all([
      call<LoginContext>("GET", "/auth/login-context"),
      orgId !== null && uuid.test(orgId) ? call<Check>("GET", `/sso/check/${orgId}`) : null,
    ]).then(([own, organization]) => {
      if (!isHere) return;
      const partner = own.data?.partnerSso;
      const { provider, loginUrl, enforceSSO } = organization?.data ?? {};
      const sso =
        provider && loginUrl
          ? { name: provider.name, loginUrl, enforced: enforceSSO === true, isPartners: false }
          : partner
            ? { name: partner.providerName, loginUrl: partner.loginUrl, enforced: partner.enforceSSO, isPartners: true }
            : null;
      setContext({ branding: own.data?.branding ?? null, sso });
    });
    return () => {
      isHere = false;
    };
  }, [orgId]);
  return context;
}
