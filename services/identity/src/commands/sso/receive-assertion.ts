import { createHash, randomBytes } from "node:crypto";
import { type CallContext, clientNetwork, systemCaller } from "@muster/kit";
import type { SsoDeps } from "../../deps.ts";
import { tokenHash } from "../../rules/opaque-token.ts";
import type { Claimed } from "../../rules/sso/claims.ts";
import { type ProviderRow, tenantOf } from "../../rules/sso/provider.ts";
import { LoginFlowEnded } from "../../rules/sso/reasons.ts";
import type { AssertionFacts } from "../../rules/sso/saml/assertion-error.ts";
import { responseLimits } from "../../rules/sso/saml/byte-limits.ts";
import { SamlRefused, SamlStatus } from "../../rules/sso/saml/refused.ts";
import { contextSaysMfa, profileOf, samlUser } from "../../rules/sso/saml/saml-user.ts";
import { loginSecretsLocation } from "../../store/sealed-columns.ts";
import { endUnanswered, findLogin, insertAssertion, keepAssertion, type LoginRow } from "../../store/sso/logins.ts";
import { holdProvider } from "../../store/sso/providers.ts";
import { failedLoginFlow, type PartialLoginFlow, unchangedProvider, usableStatuses } from "./login-flow.ts";
import { refreshOutOfTurn } from "./refresh-metadata.ts";
import { samlVerification } from "./saml-provider.ts";

/** The sealed result that waits for the browser with the handle. */
export type KeptAssertion = { claimed: Claimed; mfa: boolean; profile: Record<string, unknown> };

/** The form as the gateway read it; of one beyond its limit the relay state and the size. */
export type Posted = { samlResponse: string; relayState: string; formBytes: number; formLimitBytes: number };

/** Longer than any assertion counts: its sign-in lives for ten minutes. */
const replayMs = 20 * 60_000;

/**
 * Receives a provider's response that a browser posts. A cross-site POST carries no cookie of the login flow: the
 * verified result is stored under a one-time handle for the callback, to which the browser is redirected with its
 * cookie. Always returns an address, whatever fails.
 */
export async function receiveAssertion(
  deps: SsoDeps,
  context: CallContext,
  request: Posted,
): Promise<{ location: string }> {
  const { relayState } = request;
  const stateHash = tokenHash(relayState);
  const flow: PartialLoginFlow = { step: "consume", stateHash, login: null, provider: null, email: null };
  try {
    const handle = await accepted(deps, context, flow, request);
    const query = new URLSearchParams({ state: relayState, saml: handle });
    return { location: `${deps.own.callbackUrl}?${query}` };
  } catch (error) {
    if (flow.login) await endUnanswered(deps.db, stateHash, deps.now());
    return { location: await failedLoginFlow(deps, context, flow, error) };
  }
}

/** Verifies the response and stores its content. */
async function accepted(deps: SsoDeps, context: CallContext, flow: PartialLoginFlow, request: Posted): Promise<string> {
  const login = await pendingLogin(deps, flow.stateHash, request.relayState);
  flow.login = login;
  const provider = await unchangedProvider(deps, login);
  flow.provider = provider;
  flow.step = "assertion";
  requireWhole(request);
  const verified = (by: ProviderRow) => factsOf(deps, context, by, login, request.samlResponse);
  const facts = await verified(provider).catch(async (error: unknown) => {
    if (!isUnknownKey(error)) throw error;
    // Its metadata may name the key by now.
    await refreshOutOfTurn(deps, provider);
    return verified(await unchangedProvider(deps, login));
  });
  return keep(deps, context, flow.stateHash, login, provider, facts);
}

const isUnknownKey = (error: unknown) =>
  error instanceof LoginFlowEnded && error.cause instanceof SamlRefused && error.cause.isUnknownKey;

/** A login flow that waits for an answer: before that nothing that came is looked at. */
async function pendingLogin({ db, now }: SsoDeps, stateHash: Buffer, state: string): Promise<LoginRow> {
  const login = state === "" || state.length > 64 ? null : await findLogin(db, stateHash);
  if (!login) throw new LoginFlowEnded("consume", "invalid_callback", "the answer belongs to no sign-in");
  if (login.consumed_at !== null || login.handle_hash !== null || login.expires_at <= now()) {
    throw new LoginFlowEnded(
      "consume",
      "session_expired",
      "the sign-in took longer than 10 minutes, or was answered before",
    );
  }
  return login;
}

function requireWhole({ formBytes, formLimitBytes }: Posted): void {
  if (formBytes === 0) return;
  const limits = `at most ${formLimitBytes} are accepted, for a response of at most ${responseLimits.bytes}`;
  throw new LoginFlowEnded("assertion", "assertion_invalid", `the posted form has ${formBytes} bytes, ${limits}`);
}

async function factsOf(
  deps: SsoDeps,
  context: CallContext,
  provider: ProviderRow,
  login: LoginRow,
  samlResponse: string,
): Promise<AssertionFacts> {
  if (provider.type !== "saml" || login.request_id === null) {
    throw new LoginFlowEnded("assertion", "invalid_callback", "the provider does not sign in by SAML");
  }
  const network = clientNetwork(context.meta.clientAddress);
  try {
    const verification = samlVerification(deps, provider, login.request_id, deps.now());
    return await deps.responses.verify(samlResponse, verification, network);
  } catch (error) {
    if (error instanceof SamlStatus) throw new LoginFlowEnded("idp_error", "idp_error", error.status, { cause: error });
    if (!(error instanceof SamlRefused)) throw error;
    throw new LoginFlowEnded("assertion", "assertion_invalid", error.detail, { cause: error });
  }
}

/** Seals the assertion's content into its login flow, once, and returns the handle that opens it. */
async function keep(
  deps: SsoDeps,
  context: CallContext,
  stateHash: Buffer,
  login: LoginRow,
  provider: ProviderRow,
  facts: AssertionFacts,
): Promise<string> {
  const kept: KeptAssertion = {
    claimed: samlUser(facts, { mapping: provider.attribute_mapping, subjectAttribute: provider.subject_attribute }),
    mfa: provider.trust_idp_mfa && contextSaysMfa(facts),
    profile: profileOf(facts),
  };
  const sealed = deps.sealing.seal(Buffer.from(JSON.stringify(kept)), loginSecretsLocation(stateHash));
  const handle = randomBytes(32).toString("base64url");
  const refused = (detail: string) => new LoginFlowEnded("assertion", "assertion_invalid", detail);
  await deps.db.tx({ ...context, caller: systemCaller("identity"), actsFor: tenantOf(provider) }, async (tx) => {
    const at = deps.now();
    if (!(await holdProvider(tx, provider, usableStatuses(login.kind)))) {
      throw new LoginFlowEnded("generation", "provider_changed", "the provider was changed during the sign-in");
    }
    const hash = createHash("sha256").update(facts.id).digest();
    if (!(await insertAssertion(tx, provider.id, hash, new Date(at.getTime() + replayMs)))) {
      throw refused("the assertion was used before");
    }
    if (!(await keepAssertion(tx, stateHash, { sealed, handleHash: tokenHash(handle) }, at))) {
      throw refused("the sign-in was answered before");
    }
  });
  return handle;
}
