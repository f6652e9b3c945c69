import { randomBytes } from "node:crypto";
import { AppError, type CallContext } from "@muster/kit";
import { checkEndpoints } from "../../clients/sso/discovery.ts";
import type { OidcProvider, OidcSecrets } from "../../clients/sso/oidc.ts";
import type { SsoDeps } from "../../deps.ts";
import { tokenHash } from "../../rules/opaque-token.ts";
import { endpointsOf, missingOf } from "../../rules/sso/endpoints.ts";
import type { ProviderRow } from "../../rules/sso/provider.ts";
import { redirectPath } from "../../rules/sso/redirect-path.ts";
import { clientSecretLocation, loginSecretsLocation } from "../../store/sealed-columns.ts";
import { insertLogin } from "../../store/sso/logins.ts";
import { incomplete } from "./prepare-provider.ts";
import { samlRequest } from "./saml-provider.ts";

/** Life of a login flow, in milliseconds. */
export const loginFlowMs = 10 * 60_000;

export type StartedLoginFlow = { location: string; setCookie: string };

/** Owner of the login flow: none for a sign-in, or the user who links an account. */
export type LoginFlowOwner = { kind: "login"; redirect: string } | { kind: "link"; userId: string; sessionId: string };

/**
 * Starts a login flow: returns the redirect URL and the cookie that binds the browser. The provider's addresses are
 * checked again. Throws `sso_incomplete_provider`, `sso_discovery_failed`, and `rate_limited` beyond a thousand in
 * flight.
 */
export async function startLoginFlow(
  deps: SsoDeps,
  _context: CallContext,
  provider: ProviderRow,
  owner: LoginFlowOwner,
): Promise<StartedLoginFlow> {
  const now = deps.now();
  const missing = missingOf(provider, now);
  if (missing.length > 0) throw incomplete(missing);
  const state = randomBytes(32).toString("base64url");
  const stateHash = tokenHash(state);
  const { url, requestId, secrets } = await requestTo(deps, provider, state);
  const isStored = await insertLogin(
    deps.db,
    {
      state_hash: stateHash,
      provider_id: provider.id,
      generation: provider.generation,
      kind: owner.kind,
      user_id: owner.kind === "link" ? owner.userId : null,
      session_id: owner.kind === "link" ? owner.sessionId : null,
      redirect_url: owner.kind === "link" ? "/profile" : redirectPath(owner.redirect),
      request_id: requestId,
      secrets_sealed:
        secrets && deps.sealing.seal(Buffer.from(JSON.stringify(secrets)), loginSecretsLocation(stateHash)),
    },
    now,
    new Date(now.getTime() + loginFlowMs),
  );
  if (!isStored) throw new AppError("rate_limited", "Too many sign-ins are in progress", { retryAfterSeconds: 60 });
  return { location: url, setCookie: deps.cookies.set(state) };
}

type Request = { url: string; requestId: string | null; secrets: OidcSecrets | null };

/** The redirect URL, with its address checked now, and the values to verify the answer against. */
async function requestTo(deps: SsoDeps, provider: ProviderRow, state: string): Promise<Request> {
  if (provider.type === "saml") {
    await checkEndpoints(deps.egress, [provider.saml_sso_url]);
    return { ...(await samlRequest(deps, provider, state)), secrets: null };
  }
  const oidc = oidcProviderOf(deps, provider);
  const { authorizationUrl, tokenUrl, userInfoUrl, jwksUrl } = oidc.endpoints;
  await checkEndpoints(deps.egress, [authorizationUrl, tokenUrl, userInfoUrl, jwksUrl]);
  const { authorizationRequest } = await import("../../clients/sso/oidc.ts");
  const request = await authorizationRequest(oidc, { redirectUri: deps.own.callbackUrl, state });
  return { ...request, requestId: null };
}

/** The provider in the OpenID Connect client's form. Throws `sso_incomplete_provider`. */
export function oidcProviderOf({ sealing }: Pick<SsoDeps, "sealing">, row: ProviderRow): OidcProvider {
  const endpoints = endpointsOf(row);
  if (row.issuer === null || endpoints === null) throw incomplete(["issuer"]);
  if (row.client_id === null) throw incomplete(["clientId"]);
  if (row.client_secret_sealed === null) throw incomplete(["clientSecret"]);
  const secret = sealing.open(row.client_secret_sealed, clientSecretLocation(row.id)).toString();
  const { id, generation, issuer, scopes } = row;
  return { id, generation, issuer, scopes, endpoints, clientId: row.client_id, clientSecret: secret };
}
