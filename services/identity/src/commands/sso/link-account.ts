import { type CallContext, systemCaller } from "@muster/kit";
import type { SsoDeps } from "../../deps.ts";
import { personEvent } from "../../emits/audit.ts";
import { recordLoginFlowOutcome } from "../../emits/sso-facts.ts";
import { addressRefusal } from "../../rules/address-owner.ts";
import { hasLeft } from "../../rules/password-sign-in.ts";
import { principalCaller } from "../../rules/principal.ts";
import { tenantOf } from "../../rules/sso/provider.ts";
import { LoginFlowEnded } from "../../rules/sso/reasons.ts";
import { readPerson } from "../../store/people.ts";
import { lockSession } from "../../store/sessions.ts";
import { findLinked, isLinkTaken } from "../../store/sso/identities.ts";
import { holdProvider } from "../../store/sso/providers.ts";
import { invitedAddress } from "../claim-address.ts";
import { type Arrived, keepLink, placeOf } from "./let-in.ts";

/**
 * Links the account that began the login flow, while its session lives. Throws LoginFlowEnded at step `link`:
 * `user_gone`, `email_mismatch`, `domain_not_allowed`, `identity_in_use`, `provider_changed`.
 */
export async function linkAccount(
  deps: SsoDeps,
  context: CallContext,
  { login, provider, arrival }: Arrived,
): Promise<void> {
  const ended = (reason: LoginFlowEnded["reason"], detail: string) => new LoginFlowEnded("link", reason, detail);
  const inUse = () => ended("identity_in_use", "another account has this identity");
  const outcome = await deps.db
    .tx(
      { ...context, caller: systemCaller("identity"), actsFor: tenantOf(provider) },
      async (tx): Promise<LoginFlowEnded | null> => {
        const now = deps.now();
        const held = await holdProvider(tx, provider, ["active", "testing"]);
        if (!held) return ended("provider_changed", "the provider was changed during the login flow");
        const session = login.session_id === null ? null : await lockSession(tx, login.session_id);
        const isAlive = session?.revoked_at === null && session.expires_at > now && session.idle_expires_at > now;
        const person = login.user_id === null ? null : await readPerson(tx, login.user_id);
        if (!isAlive || person?.status !== "active" || hasLeft(person)) {
          return ended("user_gone", "the account or its session has ended");
        }
        if (person.email.toLowerCase() !== arrival.claimed.email?.toLowerCase()) {
          return ended("email_mismatch", "the provider's address is not the account's");
        }
        if (!(await invitedAddress(tx, placeOf(held), person.email)))
          return ended("domain_not_allowed", addressRefusal);
        const linked = await findLinked(tx, held.id, arrival.claimed.externalId);
        if (linked && linked.userId !== person.user_id) return inUse();
        await keepLink(deps, tx, held, arrival, person.user_id, now);
        const who = { ...context, caller: principalCaller(person, { id: login.session_id, mfaAt: null }) };
        const details = { providerId: held.id, providerName: held.name };
        tx.emit(personEvent(who, person, { action: "sso.identity.link", details }, now));
        const { email } = arrival.claimed;
        await recordLoginFlowOutcome(
          tx,
          context,
          held,
          { kind: "link", step: "link", reason: null, detail: null, email },
          now,
        );
        return null;
      },
    )
    .catch((error: unknown) => {
      if (isLinkTaken(error)) return inUse();
      throw error;
    });
  if (outcome !== null) throw outcome;
}
