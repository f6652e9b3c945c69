import { type Caller, uuidv7 } from "@muster/kit";
import { callers } from "@muster/testing";
import type { TestIdentity } from "./identity.ts";

/** Everybody's in tests. */
export const password = "a long enough password";

export type User = { userId: string; email: string; partnerId: string; orgId: string };

/** An active viewer of a new organization. */
export async function activeUser(identity: TestIdentity): Promise<User> {
  const email = `${uuidv7()}@example.com`;
  const partnerId = await identity.addPartner();
  const orgId = await identity.addOrganization(partnerId);
  const root = identity.usersAs(await identity.user(callers.platformAdmin()));
  const wanted = { email, name: "Ada Lovelace", roleId: identity.roleId("org-viewer"), orgId };
  const { user, inviteToken } = await root.inviteUser(wanted);
  await identity.usersAs(callers.service("gateway")).acceptInvite({ token: inviteToken, password });
  return { userId: user?.id ?? "", email, partnerId, orgId };
}

/** The caller of a new session of this user, and its refresh token. */
export async function signedIn(
  identity: TestIdentity,
  who: User,
  secret = password,
): Promise<{ caller: Caller; refreshToken: string }> {
  const { principal, tokens } = await identity.anonymous().login({ email: who.email, password: secret });
  return { caller: callerOf(who, principal?.sessionId ?? ""), refreshToken: tokens?.refreshToken ?? "" };
}

export const callerOf = ({ userId, email, partnerId, orgId }: User, sessionId: string, mfaAt: Date | null = null) =>
  callers.orgAdmin(partnerId, orgId, { actor: { id: userId, email }, sessionId, mfaAt });
