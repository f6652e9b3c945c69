import type { CallContext } from "@muster/kit";
import type { FactorDeps } from "../deps.ts";
import type { PrincipalRow } from "../rules/principal.ts";
import { findOwnPassword } from "../store/principals.ts";
import { beganLatelyBySso } from "../store/sessions.ts";

/** Maximum age of a session that replaces the password of a user without one. */
const freshMs = 10 * 60_000;

/**
 * Whether the caller proves again to be the owner of the account: by the password or, for users who have none or whose
 * provider disables it, by a session that an identity provider started in the last ten minutes.
 */
export async function provesOwner(
  deps: Pick<FactorDeps, "db" | "passwords" | "now">,
  context: CallContext,
  { principal, sessionId }: { principal: PrincipalRow; sessionId: string },
  password: string,
): Promise<boolean> {
  const hash = await findOwnPassword(deps.db, context);
  if (hash !== null && !principal.sso_enforced) return deps.passwords.verify(password, hash, context);
  const since = new Date(deps.now().getTime() - freshMs);
  return beganLatelyBySso(deps.db, context, sessionId, since);
}
