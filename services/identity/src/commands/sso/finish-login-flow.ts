import { timingSafeEqual } from "node:crypto";
import type { CallContext } from "@muster/kit";
import type { FinishSsoLoginRequest } from "@muster/proto/muster/identity/v1/sso_login_pb";
import type { OidcSecrets } from "../../clients/sso/oidc.ts";
import type { SsoDeps } from "../../deps.ts";
import { tokenHash } from "../../rules/opaque-token.ts";
import { saysMfa } from "../../rules/sso/amr.ts";
import { emailError, oidcUser } from "../../rules/sso/claims.ts";
import { isAllowedDomain } from "../../rules/sso/email-domain.ts";
import { defaultMapping } from "../../rules/sso/presets.ts";
import type { ProviderRow } from "../../rules/sso/provider.ts";
import { LoginFlowEnded } from "../../rules/sso/reasons.ts";
import { loginSecretsLocation } from "../../store/sealed-columns.ts";
import { consumeLogin, type LoginRow } from "../../store/sso/logins.ts";
import { type Answer, type Arrival, letIn } from "./let-in.ts";
import { linkAccount } from "./link-account.ts";
import { failedLoginFlow, type PartialLoginFlow, unchangedProvider } from "./login-flow.ts";
import type { KeptAssertion } from "./receive-assertion.ts";
import { oidcProviderOf } from "./start-login-flow.ts";

/** Handles an identity provider's redirect back: always returns an address of the app, whatever fails. */
export async function finishLoginFlow(
  deps: SsoDeps,
  context: CallContext,
  request: FinishSsoLoginRequest,
): Promise<{ location: string; setCookie: string }> {
  const stateHash = tokenHash(request.state);
  const flow: PartialLoginFlow = { step: "cookie", stateHash, login: null, provider: null, email: null };
  const setCookie = deps.cookies.end;
  try {
    return { location: await finished(deps, context, flow, request), setCookie };
  } catch (error) {
    return { location: await failedLoginFlow(deps, context, flow, error), setCookie };
  }
}

/**
 * The checks of a callback (services/identity/single-sign-on.md#the-callback), in their order; each may end it by
 * throwing LoginFlowEnded. `flow` notes how far they came.
 */
async function finished(
  deps: SsoDeps,
  context: CallContext,
  flow: PartialLoginFlow,
  request: FinishSsoLoginRequest,
): Promise<string> {
  checkCookie(deps, request);
  flow.step = "consume";
  const login = await consume(deps, flow.stateHash);
  flow.login = login;
  flow.step = "generation";
  const provider = await unchangedProvider(deps, login);
  flow.provider = provider;
  flow.step = "idp_error";
  checkProviderError(request, provider);
  flow.step = provider.type === "saml" ? "assertion" : "tokens";
  const secrets = { sealed: login.secrets_sealed, stateHash: flow.stateHash };
  const answer =
    provider.type === "saml"
      ? keptAnswer(deps, request, login.handle_hash, secrets)
      : await redeemCode(deps, request, provider, secrets);
  flow.email = answer.claimed.email;
  flow.step = "claims";
  const arrival = { ...answer, claimed: { ...answer.claimed, email: requireEmail(answer, provider) } };
  flow.step = "email_verified";
  checkEmailVerified(arrival);
  flow.step = "allowed_domains";
  checkDomains(arrival, provider);
  flow.step = "person";
  if (login.kind === "link") {
    await linkAccount(deps, context, { login, provider, arrival });
    return `${deps.appUrl}/profile?ssoLinked=1`;
  }
  const code = await letIn(deps, context, { login, provider, arrival });
  return `${deps.appUrl}${login.redirect_url}#ssoCode=${code}`;
}

function checkCookie({ cookies }: SsoDeps, { state, cookie }: FinishSsoLoginRequest): void {
  if (state === "" || state.length > 64 || !cookies.matches(cookie, state)) {
    throw new LoginFlowEnded("cookie", "invalid_callback", "the browser is not the one that began this sign-in");
  }
}

async function consume({ db, now }: SsoDeps, stateHash: Buffer): Promise<LoginRow> {
  const login = await consumeLogin(db, stateHash, now());
  if (login) return login;
  throw new LoginFlowEnded("consume", "session_expired", "the sign-in took longer than 10 minutes, or was used before");
}

function checkProviderError(request: FinishSsoLoginRequest, { type }: ProviderRow): void {
  // A SAML provider's own error was checked when its answer came.
  if (type === "saml") return;
  if (request.error !== "") {
    const message = [request.error, request.errorDescription].filter((each) => each !== "").join(": ");
    throw new LoginFlowEnded("idp_error", "idp_error", message.slice(0, 1_000));
  }
  if (request.code === "") throw new LoginFlowEnded("idp_error", "invalid_callback", "the callback has no code");
}

/** What was sealed into the login flow; null once it was used. */
type Sealed = { sealed: Buffer | null; stateHash: Buffer };

/** The assertion that was verified when it was posted, for the browser that has its handle. */
function keptAnswer(
  { sealing }: SsoDeps,
  { saml }: FinishSsoLoginRequest,
  handleHash: Buffer | null,
  { sealed, stateHash }: Sealed,
): Answer {
  if (sealed === null || handleHash === null || !timingSafeEqual(handleHash, tokenHash(saml))) {
    throw new LoginFlowEnded("assertion", "invalid_callback", "the callback brings no answer of the provider");
  }
  const kept: KeptAssertion = JSON.parse(sealing.open(sealed, loginSecretsLocation(stateHash)).toString());
  return { ...kept, tokens: { access: null, refresh: null, expiresInSeconds: null } };
}

async function redeemCode(
  deps: SsoDeps,
  { state, code, iss }: FinishSsoLoginRequest,
  provider: ProviderRow,
  { sealed, stateHash }: Sealed,
): Promise<Answer> {
  if (sealed === null) throw new LoginFlowEnded("tokens", "session_expired", "the sign-in was used before");
  const secrets: OidcSecrets = JSON.parse(deps.sealing.open(sealed, loginSecretsLocation(stateHash)).toString());
  const ready = oidcProviderOf(deps, provider);
  const { redeem } = await import("../../clients/sso/oidc.ts");
  const answer = await redeem(deps, ready, { state, code, iss }, { redirectUri: deps.own.callbackUrl, secrets });
  const [idToken = {}] = answer.sources;
  return {
    claimed: oidcUser(answer.sub, answer.sources, provider.attribute_mapping ?? defaultMapping.oidc),
    mfa: provider.trust_idp_mfa && saysMfa(idToken.amr),
    profile: Object.assign({}, ...[...answer.sources].reverse()),
    tokens: { access: answer.accessToken, refresh: answer.refreshToken, expiresInSeconds: answer.expiresInSeconds },
  };
}

function requireEmail({ claimed, profile }: Answer, { type, attribute_mapping: mapping }: ProviderRow): string {
  if (claimed.email) return claimed.email;
  const { email } = mapping ?? defaultMapping.oidc;
  const detail =
    type === "saml"
      ? "no attribute holds an e-mail address, and the NameID is none"
      : emailError(email, profile[email]);
  throw new LoginFlowEnded("claims", "email_missing", detail);
}

function checkEmailVerified({ claimed }: Arrival): void {
  if (claimed.emailVerified !== false) return;
  throw new LoginFlowEnded("email_verified", "email_unverified", "the provider says that the address is not verified");
}

function checkDomains({ claimed }: Arrival, { allowed_domains: domains }: ProviderRow): void {
  if (isAllowedDomain(claimed.email, domains)) return;
  throw new LoginFlowEnded("allowed_domains", "domain_not_allowed", "the address is of none of the allowed domains");
}
