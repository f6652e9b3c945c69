import { randomUUID } from "node:crypto";
import { afterAll, beforeAll } from "@jest/globals";
import { verifiedDomain } from "./dns.ts";
import { type Idp, startIdp } from "./identity-provider.ts";
import { newProvider, newSamlProvider, type ProviderBody } from "./login-flow.ts";
import { ownTenant } from "./own-tenant.ts";
import { type SamlIdp, startSamlIdp } from "./saml-identity-provider.ts";

/** `ownTenant` with an identity provider by OpenID Connect, and an active provider of its organization over it. */
export function ownProvider() {
  const own = ownTenant();
  const idp = {} as Idp;
  const provider = {} as ProviderBody;
  beforeAll(async () => {
    Object.assign(idp, await startIdp(own.cluster));
    Object.assign(provider, await newProvider(own.tenant.admin.api, idp));
  }, 60_000);
  afterAll(() => closed(idp));
  return { ...own, idp, provider };
}

/** As `ownProvider`, by SAML, and with a verified domain. */
export function ownSamlProvider() {
  const own = ownTenant();
  const domain = `${randomUUID()}.example`;
  const idp = {} as SamlIdp;
  const provider = {} as ProviderBody;
  beforeAll(async () => {
    Object.assign(idp, await startSamlIdp(own.cluster));
    Object.assign(provider, await newSamlProvider(own.tenant.admin.api, idp));
    await verifiedDomain(own.cluster, own.tenant.admin.api, domain);
  }, 90_000);
  afterAll(() => closed(idp));
  return { ...own, domain, idp, provider };
}

/** Nothing is open when its start has failed. */
const closed = async (idp: Partial<Pick<Idp, "close">>) => idp.close?.();
