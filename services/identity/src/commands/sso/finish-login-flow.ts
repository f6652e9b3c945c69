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
import { failureReasons, LoginFlowEnded, linkReasons, type Step } from "../../rules/sso/reasons.ts";
import { loginSecretsLocation } from "../../store/sealed-columns.ts";
import { consumeLogin, type LoginRow } from "../../store/sso/logins.ts";
import { type Arrival, letIn } from "./let-in.ts";
import { linkAccount } from "./link-account.ts";
import { failedLoginFlow, unchangedProvider } from "./login-flow.ts";
import type { KeptAssertion } from "./receive-assertion.ts";
import { oidcProviderOf } from "./start-login-flow.ts";

/** What the steps of one callback find out, each from those before. */
type LoginFlow = {
  request: FinishSsoLoginRequest;
  step: Step;
  stateHash: Buffer;
  login: LoginRow | null;
  provider: ProviderRow | null;
  arrival: Arrival | null;
  location: string | null;
};

type StepFunction = (deps: SsoDeps, context: CallContext, flow: LoginFlow) => Promise<void> | void;

/**
 * The checks of a callback (services/identity/single-sign-on.md#the-callback), in their order; each may end it by
 * throwing LoginFlowEnded.
 */
const callbackSteps: readonly (readonly [Step, StepFunction])[] = [
  ["cookie", checkCookie],
  ["consume", consume],
  ["generation", checkGeneration],
  ["idp_error", checkProviderError],
  ["tokens", readAnswer],
  ["claims", checkClaims],
  ["email_verified", checkEmailVerified],
  ["allowed_domains", checkDomains],
  ["person", admit],
];

/** Handles an identity provider's redirect back: always returns an address of the app, whatever fails. */
export async function finishLoginFlow(
  deps: SsoDeps,
  context: CallContext,
  request: FinishSsoLoginRequest,
): Promise<{ location: string; setCookie: string }> {
  const stateHash = tokenHash(request.state);
  const flow: LoginFlow = {
    request,
    step: "cookie",
    stateHash,
    login: null,
    provider: null,
    arrival: null,
    location: null,
  };
  try {
    for (const [step, run] of callbackSteps) {
      flow.step = step;
      await run(deps, context, flow);
    }
    return { location: flow.location ?? deps.appUrl, setCookie: deps.cookies.end };
  } catch (error) {
    const identified = { ...flow, email: flow.arrival?.claimed.email ?? null };
    return { location: await failedLoginFlow(deps, context, identified, error), setCookie: deps.cookies.end };
  }
}

function checkCookie({ cookies }: SsoDeps, _context: CallContext, { request }: LoginFlow): void {
  if (request.state === "" || request.state.length > 64 || !cookies.matches(request.cookie, request.state)) {
    throw new LoginFlowEnded("cookie", "invalid_callback", "the browser is not the one that began this sign-in");
  }
}

async function consume({ db, now }: SsoDeps, _context: CallContext, flow: LoginFlow): Promise<void> {
  flow.login = await consumeLogin(db, flow.stateHash, now());
  if (flow.login) return;
  throw new LoginFlowEnded("consume", "session_expired", "the sign-in took longer than 10 minutes, or was used before");
}

async function checkGeneration(deps: SsoDeps, _context: CallContext, flow: LoginFlow): Promise<void> {
  flow.provider = await unchangedProvider(deps, flow.login as LoginRow);
}

function checkProviderError(_deps: SsoDeps, _context: CallContext, { request, provider }: LoginFlow): void {
  // A SAML provider's own error was checked when its answer came.
  if (provider?.type === "saml") return;
  if (request.error !== "") {
    const message = [request.error, request.errorDescription].filter((each) => each !== "").join(": ");
    throw new LoginFlowEnded("idp_error", "idp_error", message.slice(0, 1_000));
  }
  if (request.code === "") throw new LoginFlowEnded("idp_error", "invalid_callback", "the callback has no code");
}

async function readAnswer(deps: SsoDeps, context: CallContext, flow: LoginFlow): Promise<void> {
  const provider = flow.provider as ProviderRow;
  if (provider.type === "saml") {
    flow.step = "assertion";
    flow.arrival = keptArrival(deps, flow);
    return;
  }
  await redeemCode(deps, context, flow);
}

/** The assertion that was verified when it was posted, for the browser that has its handle. */
function keptArrival({ sealing }: SsoDeps, { request, login, stateHash }: LoginFlow): Arrival {
  const { secrets_sealed: sealed, handle_hash: handleHash } = login as LoginRow;
  if (sealed === null || handleHash === null || !timingSafeEqual(handleHash, tokenHash(request.saml))) {
    throw new LoginFlowEnded("assertion", "invalid_callback", "the callback brings no answer of the provider");
  }
  const kept = JSON.parse(sealing.open(sealed, loginSecretsLocation(stateHash)).toString()) as KeptAssertion;
  return { ...kept, tokens: { access: null, refresh: null, expiresInSeconds: null } };
}

async function redeemCode(deps: SsoDeps, _context: CallContext, flow: LoginFlow): Promise<void> {
  const provider = flow.provider as ProviderRow;
  const { secrets_sealed: sealed } = flow.login as LoginRow;
  if (sealed === null) throw new LoginFlowEnded("tokens", "session_expired", "the sign-in was used before");
  const secrets = JSON.parse(deps.sealing.open(sealed, loginSecretsLocation(flow.stateHash)).toString()) as OidcSecrets;
  const { state, code, iss } = flow.request;
  const ready = oidcProviderOf(deps, provider);
  const { redeem } = await import("../../clients/sso/oidc.ts");
  const answer = await redeem(deps, ready, { state, code, iss }, { redirectUri: deps.own.callbackUrl, secrets });
  const mapping = provider.attribute_mapping ?? defaultMapping.oidc;
  const [idToken = {}] = answer.sources;
  flow.arrival = {
    claimed: oidcUser(answer.sub, answer.sources, mapping),
    mfa: provider.trust_idp_mfa && saysMfa(idToken.amr),
    profile: Object.assign({}, ...[...answer.sources].reverse()),
    tokens: { access: answer.accessToken, refresh: answer.refreshToken, expiresInSeconds: answer.expiresInSeconds },
  };
}

function checkClaims(_deps: SsoDeps, _context: CallContext, { arrival, provider }: LoginFlow): void {
  if (arrival?.claimed.email) return;
  const { email } = provider?.attribute_mapping ?? defaultMapping.oidc;
  const detail =
    provider?.type === "saml"
      ? "no attribute holds an e-mail address, and the NameID is none"
      : emailError(email, arrival?.profile[email]);
  throw new LoginFlowEnded("claims", "email_missing", detail);
}

function checkEmailVerified(_deps: SsoDeps, _context: CallContext, { arrival }: LoginFlow): void {
  if (arrival?.claimed.emailVerified !== false) return;
  throw new LoginFlowEnded("email_verified", "email_unverified", "the provider says that the address is not verified");
}

function checkDomains(_deps: SsoDeps, _context: CallContext, { arrival, provider }: LoginFlow): void {
  if (isAllowedDomain(arrival?.claimed.email ?? "", provider?.allowed_domains ?? [])) return;
  throw new LoginFlowEnded("allowed_domains", "domain_not_allowed", "the address is of none of the allowed domains");
}

async function admit(deps: SsoDeps, context: CallContext, flow: LoginFlow): Promise<void> {
  const login = flow.login as LoginRow;
  const provider = flow.provider as ProviderRow;
  const arrival = flow.arrival as Arrival;
  if (login.kind === "link") {
    await linkAccount(deps, context, { login, provider, arrival });
    flow.location = `${deps.appUrl}/profile?ssoLinked=1`;
    return;
  }
  const code = await letIn(deps, context, { login, provider, arrival });
  flow.location = `${deps.appUrl}${login.redirect_url}#ssoCode=${code}`;
}

/** Every reason that an address of the app can name. */
export const shownReasons = [...failureReasons, ...linkReasons];
