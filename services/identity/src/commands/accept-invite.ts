import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Tx } from "@muster/db";
import { AppError, type CallContext, nameError, systemCaller, validationError } from "@muster/kit";
import type { DescribeInviteResponseSchema } from "@muster/proto/muster/identity/v1/user_pb";
import type { UserDeps } from "../deps.ts";
import { userEvent } from "../emits/audit.ts";
import { userChanged } from "../emits/auth.ts";
import { addressRefusal } from "../rules/address-owner.ts";
import { tokenHash } from "../rules/opaque-token.ts";
import { ownerOf } from "../rules/owner.ts";
import { checkNewPassword } from "../rules/password-policy.ts";
import { hasLeft } from "../rules/password-sign-in.ts";
import { type PrincipalRow, principalCaller } from "../rules/principal.ts";
import { ssoRequired } from "../rules/sso/sso-required.ts";
import { lockAddress } from "../store/addresses.ts";
import { activateUser, findInvite, inviterOf, lockInvite, useInvite } from "../store/invites.ts";
import { findPrincipal } from "../store/principals.ts";
import { countRefusal } from "../store/refusals.ts";
import { refusedToken } from "../store/unknown-keys.ts";
import { claimAddress } from "./claim-address.ts";

type InviteDeps = Pick<UserDeps, "db" | "unknownTokens" | "now">;

/** The open invitation behind a token, and its user. Throws `invalid_token`, `sso_required`. */
async function openInvite(deps: InviteDeps, context: CallContext, token: string) {
  const { db, now } = deps;
  const invite = await findInvite(db, tokenHash(token));
  if (!invite) throw await refusedToken(deps, context, invalidToken());
  if (invite.used_at || invite.expires_at <= now()) throw invalidToken();
  const user = await findPrincipal(db, invite.user_id);
  if (user?.status !== "invited" || hasLeft(user)) throw invalidToken();
  if (user.sso_enforced) throw ssoRequired(user);
  return { invite, user };
}

/** Who invites whom to which tenant, for the holder of the token. Throws as acceptInvite, and changes nothing. */
export async function describeInvite(
  deps: InviteDeps,
  context: CallContext,
  token: string,
): Promise<MessageInitShape<typeof DescribeInviteResponseSchema>> {
  const { invite, user } = await openInvite(deps, context, token);
  return {
    email: user.email,
    name: user.name,
    invitedBy: (await inviterOf(deps.db, invite.id)) ?? "",
    partnerId: user.partner_id ?? "",
    orgId: user.org_id ?? "",
    expiresAt: timestampFromDate(invite.expires_at),
  };
}

/**
 * Sets an invited user's password, once. Throws `invalid_token`, `sso_required`, and `validation_failed` on the
 * password or the name.
 */
export async function acceptInvite(
  deps: Pick<UserDeps, "db" | "passwords" | "unknownTokens" | "now">,
  context: CallContext,
  { token, password, name }: { token: string; password: string; name: string },
): Promise<void> {
  const { db, passwords, now } = deps;
  const error = name.trim() === "" ? null : nameError(name);
  if (error) throw validationError({ name: [error] });
  const { invite, user } = await openInvite(deps, context, token);
  checkNewPassword(password, user.email);
  const passwordHash = await passwords.hash(password, context);
  const activation = { id: user.user_id, passwordHash, name: name.trim() || null };
  const isAccepted = await db.tx(
    { ...context, caller: systemCaller("identity"), actsFor: user.org_id ?? user.partner_id },
    (tx) => accept(tx, context, { inviteId: invite.id, user, activation }, now()),
  );
  // Somebody else owns the address: the holder of the link only learns that the link is invalid.
  if (!isAccepted) throw invalidToken();
}

type Accepting = {
  inviteId: string;
  user: PrincipalRow;
  activation: { id: string; passwordHash: string; name: string | null };
};

/** False when the address is somebody else's, which leaves a row in the invitation's own tenant. */
async function accept(
  tx: Tx,
  context: CallContext,
  { inviteId, user, activation }: Accepting,
  now: Date,
): Promise<boolean> {
  const who = { ...context, caller: principalCaller(user) };
  const tenant = ownerOf(user);
  await lockAddress(tx, user.email);
  const invite = await lockInvite(tx, inviteId, now);
  if (!invite) throw invalidToken();
  const address = await claimAddress(
    tx,
    who,
    { userId: user.user_id, name: user.name, tenant },
    {
      email: user.email,
      by: invite.ofPartner ? { ...tenant, orgId: null } : tenant,
      evidence: invite.byMailAlone ? "mailbox" : "none",
    },
    now,
  );
  if (!address) {
    const failed = { result: "denied" as const, message: addressRefusal };
    const isFirst = await countRefusal(tx, user.user_id, "user.invite.accept", now);
    const details = { code: "domain_not_allowed" };
    if (isFirst) tx.emit(userEvent(who, user, { action: "user.invite.accept", details, failed }, now));
    return false;
  }
  await useInvite(tx, inviteId, now);
  const version = await activateUser(tx, address, activation, now);
  if (version === null) throw invalidToken();
  tx.emit(userChanged(user.user_id, version));
  const details = { emailProof: address.proof };
  tx.emit(userEvent(who, user, { action: "user.invite.accept", details }, now));
  return true;
}

const invalidToken = () => new AppError("invalid_token", "Invalid or expired invitation");
