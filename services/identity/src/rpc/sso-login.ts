import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, isUuid } from "@muster/kit";
import type { SsoLoginService } from "@muster/proto/muster/identity/v1/sso_login_pb";
import { callContext } from "@muster/rpc";
import { exchangeCode } from "../commands/sso/exchange.ts";
import { finishLoginFlow } from "../commands/sso/finish-login-flow.ts";
import { receiveAssertion } from "../commands/sso/receive-assertion.ts";
import { samlMetadata } from "../commands/sso/saml-provider.ts";
import { startLoginFlow } from "../commands/sso/start-login-flow.ts";
import type { SsoDeps } from "../deps.ts";
import { domainOf } from "../rules/sso/email-domain.ts";
import { onlyPartner } from "../store/sso/branding.ts";
import { ownerOfDomain } from "../store/sso/domains.ts";
import { findActiveProvider, findSignInProvider, readProvider } from "../store/sso/providers.ts";
import { brandingMessage } from "./branding.ts";
import { providerNotFound } from "./sso-provider.ts";

/** Login flows through identity providers, for unauthenticated browsers. */
export function ssoLoginService(deps: SsoDeps): ServiceImpl<typeof SsoLoginService> {
  const { db } = deps;
  return {
    async checkSso({ orgId }) {
      const provider = isUuid(orgId) ? await findSignInProvider(db, { orgId }) : null;
      if (!provider) return {};
      const { id: providerId, name: providerName, type: providerType, enforced } = provider;
      return { providerId, providerName, providerType, enforced };
    },

    async findSso({ email }) {
      const domain = domainOf(email);
      const owner = domain === null ? null : await ownerOfDomain(db, domain);
      if (!owner) return {};
      const { partnerId, orgId } = owner;
      const whose = orgId === null ? { partnerId } : { orgId };
      const provider = await findSignInProvider(db, whose);
      return provider ? { providerName: provider.name, ...whose, enforced: provider.enforced } : {};
    },

    async beginSsoLogin({ orgId, partnerId, redirect }, handler) {
      const wanted = partnerId === "" ? { orgId } : { partnerId };
      const provider = isUuid(orgId || partnerId) ? await findActiveProvider(db, wanted) : null;
      if (!provider) {
        throw new AppError("sso_not_configured", "No active SSO provider for this organization");
      }
      return startLoginFlow(deps, callContext(handler), provider, { kind: "login", redirect });
    },

    receiveSamlResponse: (request, handler) => receiveAssertion(deps, callContext(handler), request),

    async getSamlMetadata({ providerId }) {
      const provider = isUuid(providerId) ? await readProvider(db, providerId) : null;
      if (provider?.type !== "saml") throw providerNotFound();
      return { xml: await samlMetadata(deps, provider) };
    },

    finishSsoLogin: (request, handler) => finishLoginFlow(deps, callContext(handler), request),

    exchangeSsoCode: ({ code }, handler) => exchangeCode(deps, callContext(handler), code),

    async getLoginContext() {
      const partner = deps.isHosted ? null : await onlyPartner(db);
      if (!partner) return {};
      const { partnerId, branding } = partner;
      const provider = await findSignInProvider(db, { partnerId });
      const isEmpty = Object.values(branding).every((value) => value === null);
      return {
        ...(isEmpty ? {} : { branding: brandingMessage(branding) }),
        ...(provider ? { partnerId, providerName: provider.name, enforced: provider.enforced } : {}),
      };
    },
  };
}
