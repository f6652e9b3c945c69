import { isUniqueViolation } from "@muster/db";
import { AppError, type CallContext, nameFault, validationError } from "@muster/kit";
import type { UserDeps } from "../deps.ts";
import { personEvent } from "../emits/audit.ts";
import { userChanged } from "../emits/auth.ts";
import { tokenHash } from "../rules/opaque-token.ts";
import { checkNewPassword } from "../rules/password-policy.ts";
import { hasLeft } from "../rules/password-sign-in.ts";
import { principalCaller } from "../rules/principal.ts";
import { ssoRequired } from "../rules/sso/sso-required.ts";
import { activateUser, findInvite, useInvite } from "../store/invites.ts";
import { findPrincipal } from "../store/people.ts";
import { refusedToken } from "../store/unknown-keys.ts";

/**
 * Sets an invited person's password, once. Throws `invalid_token`, `sso_required`, and `validation_failed` on the
 * password or the name.
 */
export async function acceptInvite(
  deps: Pick<UserDeps, "db" | "passwords" | "unknownTokens" | "now">,
  context: CallContext,
  { token, password, name }: { token: string; password: string; name: string },
): Promise<void> {
  const { db, passwords, now } = deps;
  const fault = name.trim() === "" ? null : nameFault(name);
  if (fault) throw validationError({ name: [fault] });
  const invite = await findInvite(db, tokenHash(token));
  if (!invite) throw await refusedToken(deps, context, invalidToken());
  if (invite.used_at || invite.expires_at <= now()) throw invalidToken();
  const person = await findPrincipal(db, invite.user_id);
  if (person?.status !== "invited" || hasLeft(person)) throw invalidToken();
  if (person.sso_enforced) throw ssoRequired(person);
  checkNewPassword(password, person.email);
  const passwordHash = await passwords.hash(password, context);
  const caller = principalCaller(person);
  await db.tx({ ...context, caller }, async (tx) => {
    const at = now();
    if (!(await useInvite(tx, invite.id, at))) throw invalidToken();
    const user = { id: person.user_id, passwordHash, name: name.trim() || null };
    const version = await activateUser(tx, user, at).catch((error: unknown) => {
      // The address has an account elsewhere: the holder of the link only learns that the link is invalid.
      throw isUniqueViolation(error, "users_email") ? invalidToken() : error;
    });
    if (version === null) throw invalidToken();
    tx.emit(userChanged(person.user_id, version));
    tx.emit(personEvent({ ...context, caller }, person, { action: "user.invite.accept" }, at));
  });
}

const invalidToken = () => new AppError("invalid_token", "Invalid or expired invitation");
