import { AppError, type CallContext, systemCaller } from "@muster/kit";
import type { SsoDeps } from "../../deps.ts";
import { countUnknownTrip, noteTripEnd } from "../../emits/sso-facts.ts";
import { type ProviderRow, tenantOf } from "../../rules/sso/provider.ts";
import { RoundTripEnded, type Step } from "../../rules/sso/reasons.ts";
import { findLogin, type LoginRow } from "../../store/sso/logins.ts";
import { readProvider } from "../../store/sso/providers.ts";

/** A round trip as far as it is known. */
export type KnownTrip = {
  step: Step;
  stateHash: Buffer;
  login: LoginRow | null;
  provider: ProviderRow | null;
  email: string | null;
};

/**
 * The address to which a browser is redirected after a failed round trip; never throws. The failure is recorded for the
 * provider's administrators, and logged when it is an internal one; the address names the attempt, which they look up.
 */
export async function failedTrip(
  deps: SsoDeps,
  context: CallContext,
  trip: KnownTrip,
  error: unknown,
): Promise<string> {
  const ended = endOf(trip.step, error);
  if (ended.reason === "internal") deps.log.error({ err: error, step: trip.step }, "sign-in through a provider failed");
  const attempt = await noteEnd(deps, context, trip, ended).catch((err: unknown) => {
    deps.log.error({ err, step: ended.step }, "end of a sign-in not recorded");
    return null;
  });
  const known = attempt === null ? "" : `&attempt=${attempt}`;
  if (trip.login?.kind === "link") return `${deps.appUrl}/profile?ssoLinkError=${ended.reason}${known}`;
  return `${deps.appUrl}/login?error=sso_error&reason=${ended.reason}${known}`;
}

function endOf(step: Step, error: unknown): RoundTripEnded {
  if (error instanceof RoundTripEnded) return error;
  if (error instanceof AppError && error.code === "overloaded") {
    return new RoundTripEnded(step, "busy", error.message, { cause: error });
  }
  return new RoundTripEnded(step, "internal", "a failure on our side; the log has it under the request's id", {
    cause: error,
  });
}

/** Resolves to the id of the attempt; null while the provider is unknown. */
async function noteEnd(
  deps: SsoDeps,
  context: CallContext,
  trip: KnownTrip,
  ended: RoundTripEnded,
): Promise<string | null> {
  // A mismatched cookie ends the trip before it is consumed; its provider is known nevertheless.
  const login = trip.login ?? (await findLogin(deps.db, trip.stateHash));
  const provider = trip.provider ?? (login ? await readProvider(deps.db, login.provider_id) : null);
  if (!login || !provider) {
    countUnknownTrip(ended.reason);
    return null;
  }
  const { step, reason, detail } = ended;
  return deps.db.tx({ ...context, caller: systemCaller("identity"), actsFor: tenantOf(provider) }, (tx) =>
    noteTripEnd(tx, context, provider, { kind: login.kind, step, reason, detail, email: trip.email }, deps.now()),
  );
}

/** The statuses of a provider in which a kind of round trip counts: links also while it is tried out. */
export const usableStatuses = (kind: LoginRow["kind"]) => (kind === "link" ? ["active", "testing"] : ["active"]);

/** The provider as it was when the round trip began, and in a state in which it counts. Throws RoundTripEnded. */
export async function unchangedProvider({ db }: Pick<SsoDeps, "db">, login: LoginRow): Promise<ProviderRow> {
  const provider = await readProvider(db, login.provider_id);
  const isUsable = provider?.generation === login.generation && usableStatuses(login.kind).includes(provider.status);
  if (provider && isUsable) return provider;
  throw new RoundTripEnded("generation", "provider_changed", "the provider was changed during the sign-in");
}
