import { AppError, type CallContext } from "@muster/kit";
import type { SsoDeps } from "../../deps.ts";
import { recordProvider } from "../../emits/sso-facts.ts";
import { tokenHash } from "../../rules/opaque-token.ts";
import { hasLeft } from "../../rules/password-sign-in.ts";
import type { PrincipalRow } from "../../rules/principal.ts";
import type { ProviderRow } from "../../rules/sso/provider.ts";
import { findPrincipal } from "../../store/principals.ts";
import { consumeCode } from "../../store/sso/logins.ts";
import { holdProvider, proveProvider } from "../../store/sso/providers.ts";
import { newFamily, type SignedIn } from "../session-families.ts";

/**
 * The session behind a one-time code: it begins here, and user and provider are checked again. An administrator's
 * proves what the provider enforces. Throws `invalid_exchange_code`, whatever the reason.
 */
export async function exchangeCode(deps: SsoDeps, context: CallContext, text: string): Promise<SignedIn> {
  const now = deps.now();
  const code = text === "" ? null : await consumeCode(deps.db, tokenHash(text), now);
  if (!code) throw invalidCode();
  const principal = await findPrincipal(deps.db, code.user_id);
  if (principal?.status !== "active" || hasLeft(principal)) throw invalidCode();
  const family = newFamily(deps.sessions, context, principal, {
    mfaAt: code.mfa ? now : null,
    ssoProviderId: code.provider_id,
  });
  // Read as the service: most users who sign in through the provider may not read it.
  const stored = await deps.db.tx({ ...context, caller: deps.system }, async (tx) => {
    const provider = await holdProvider(tx, { id: code.provider_id, generation: code.generation }, ["active"]);
    if (!provider) return null;
    await family.store(tx, provider.name);
    return provider;
  });
  if (!stored) throw invalidCode();
  const signedIn = await family.signedIn();
  if (stored.proven_at === null && administers(principal, stored)) {
    const who = { ...context, caller: family.caller };
    // In a separate transaction, afterwards: two transactions that share-lock the provider could not both change it.
    await deps.db.tx({ ...context, caller: deps.system }, async (tx) => {
      if (!(await proveProvider(tx, stored, now)) || !stored.enforce_sso) return;
      recordProvider(tx, who, stored, "sso.provider.update", { changedFields: ["enforcement"], inForce: true }, now);
    });
  }
  return signedIn;
}

/** Whether this user could repair the provider once enforcement has disabled passwords. */
const administers = (user: PrincipalRow, provider: ProviderRow) =>
  user.permissions.includes("organizations:write") &&
  !user.site_restricted &&
  (provider.org_id !== null || user.org_access === "all");

const invalidCode = () => new AppError("invalid_exchange_code", "Invalid or expired token exchange code");
