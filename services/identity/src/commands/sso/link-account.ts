import { type CallContext, systemCaller } from "@muster/kit";
import type { SsoDeps } from "../../deps.ts";
import { userEvent } from "../../emits/audit.ts";
import { recordLoginFlowOutcome } from "../../emits/sso-facts.ts";
import { addressRefusal } from "../../rules/address-owner.ts";
import { ownerOf } from "../../rules/owner.ts";
import { hasLeft } from "../../rules/password-sign-in.ts";
import { principalCaller } from "../../rules/principal.ts";
import { tenantOf } from "../../rules/sso/provider.ts";
import { LoginFlowEnded } from "../../rules/sso/reasons.ts";
import { readPrincipal } from "../../store/principals.ts";
import { lockSession } from "../../store/sessions.ts";
import { findLinked, isLinkTaken } from "../../store/sso/identities.ts";
import { holdProvider } from "../../store/sso/providers.ts";
import { invitedAddress } from "../claim-address.ts";
import { type Arrived, keepLink } from "./let-in.ts";

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
        const user = login.user_id === null ? null : await readPrincipal(tx, login.user_id);
        if (!isAlive || user?.status !== "active" || hasLeft(user)) {
          return ended("user_gone", "the account or its session has ended");
        }
        if (user.email.toLowerCase() !== arrival.claimed.email.toLowerCase()) {
          return ended("email_mismatch", "the provider's address is not the account's");
        }
        if (!(await invitedAddress(tx, ownerOf(held), user.email))) return ended("domain_not_allowed", addressRefusal);
        const linked = await findLinked(tx, held.id, arrival.claimed.externalId);
        if (linked && linked.userId !== user.user_id) return inUse();
        await keepLink(deps, tx, held, arrival, user.user_id, now);
        const who = { ...context, caller: principalCaller(user, { id: login.session_id, mfaAt: null }) };
        const details = { providerId: held.id, providerName: held.name };
        tx.emit(userEvent(who, user, { action: "sso.identity.link", details }, now));
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
