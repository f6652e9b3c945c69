import { AppError, type CallContext, systemCaller } from "@muster/kit";
import type { SsoDeps } from "../../deps.ts";
import { countUnknownLoginFlow, recordLoginFlowOutcome } from "../../emits/sso-facts.ts";
import { type ProviderRow, tenantOf } from "../../rules/sso/provider.ts";
import { LoginFlowEnded, type Step } from "../../rules/sso/reasons.ts";
import { findLogin, type LoginRow } from "../../store/sso/logins.ts";
import { readProvider } from "../../store/sso/providers.ts";

/** What is known of a login flow when it fails. */
export type PartialLoginFlow = {
  step: Step;
  stateHash: Buffer;
  login: LoginRow | null;
  provider: ProviderRow | null;
  email: string | null;
};

/**
 * The address to which a browser is redirected after a failed login flow; never throws. The failure is recorded for the
 * provider's administrators, and logged when it is an internal one; the address names the attempt, which they look up.
 */
export async function failedLoginFlow(
  deps: SsoDeps,
  context: CallContext,
  flow: PartialLoginFlow,
  error: unknown,
): Promise<string> {
  const ended = endOf(flow.step, error);
  if (ended.reason === "internal") deps.log.error({ err: error, step: flow.step }, "sign-in through a provider failed");
  const attempt = await noteEnd(deps, context, flow, ended).catch((err: unknown) => {
    deps.log.error({ err, step: ended.step }, "end of a sign-in not recorded");
    return null;
  });
  const attemptParameter = attempt === null ? "" : `&attempt=${attempt}`;
  if (flow.login?.kind === "link") return `${deps.appUrl}/profile?ssoLinkError=${ended.reason}${attemptParameter}`;
  return `${deps.appUrl}/login?error=sso_error&reason=${ended.reason}${attemptParameter}`;
}

function endOf(step: Step, error: unknown): LoginFlowEnded {
  if (error instanceof LoginFlowEnded) return error;
  if (error instanceof AppError && error.code === "overloaded") {
    return new LoginFlowEnded(step, "busy", error.message, { cause: error });
  }
  return new LoginFlowEnded(step, "internal", "a failure on our side; the log has it under the request's id", {
    cause: error,
  });
}

/** Resolves to the id of the attempt; null while the provider is unknown. */
async function noteEnd(
  deps: SsoDeps,
  context: CallContext,
  flow: PartialLoginFlow,
  ended: LoginFlowEnded,
): Promise<string | null> {
  // A mismatched cookie ends the flow before it is consumed; its provider is known nevertheless.
  const login = flow.login ?? (await findLogin(deps.db, flow.stateHash));
  const provider = flow.provider ?? (login ? await readProvider(deps.db, login.provider_id) : null);
  if (!login || !provider) {
    countUnknownLoginFlow(ended.reason);
    return null;
  }
  const { step, reason, detail } = ended;
  return deps.db.tx({ ...context, caller: systemCaller("identity"), actsFor: tenantOf(provider) }, (tx) =>
    recordLoginFlowOutcome(
      tx,
      context,
      provider,
      { kind: login.kind, step, reason, detail, email: flow.email },
      deps.now(),
    ),
  );
}

/** The statuses of a provider that allow a kind of login flow: links are allowed during testing too. */
export const usableStatuses = (kind: LoginRow["kind"]) => (kind === "link" ? ["active", "testing"] : ["active"]);

/**
 * The provider as it was when the login flow began, with a status that allows this kind of flow. Throws LoginFlowEnded.
 */
export async function unchangedProvider({ db }: Pick<SsoDeps, "db">, login: LoginRow): Promise<ProviderRow> {
  const provider = await readProvider(db, login.provider_id);
  const isUsable = provider?.generation === login.generation && usableStatuses(login.kind).includes(provider.status);
  if (provider && isUsable) return provider;
  throw new LoginFlowEnded("generation", "provider_changed", "the provider was changed during the sign-in");
}
