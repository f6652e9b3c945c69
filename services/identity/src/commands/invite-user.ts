import type { Tx } from "@muster/db";
import { AppError, type CallContext, type Caller, isUuid, uuidv7 } from "@muster/kit";
import {
  type InviteUserRequest,
  type InviteUserResponse,
  type User,
  UserService,
} from "@muster/proto/muster/identity/v1/user_pb";
import { idempotentTx } from "@muster/service";
import type { UserDeps } from "../deps.ts";
import { recordPerson, visibleUserFields } from "../emits/person-facts.ts";
import { isRoleOf, type NewUser, newUser, noOrganization, type Role, roleNotFound } from "../rules/new-user.ts";
import { newToken } from "../rules/opaque-token.ts";
import { insertInvite } from "../store/invites.ts";
import { findRole, type RoleRow, readRole } from "../store/roles.ts";
import { findTenants, type KnownTenants } from "../store/tenants.ts";
import { emailTaken, findEmailHolders, insertUser, type UserRow } from "../store/users.ts";
import { actingNow, inTurnOf } from "./administer.ts";

const inviteMs = 7 * 86_400_000;

/**
 * Creates an invited user and the invitation's token. Throws as newUser, `site_not_found`, and `email_taken` when the
 * caller can see the account with the address.
 */
export async function inviteUser(
  deps: Pick<UserDeps, "db" | "now" | "learnTenants" | "box" | "mail">,
  context: CallContext,
  request: InviteUserRequest,
  messageOf: (row: UserRow) => User,
): Promise<InviteUserResponse> {
  const { db } = deps;
  const seen = isUuid(request.roleId) ? await findRole(db, context, request.roleId) : null;
  if (!seen) throw roleNotFound();
  const wanted = newUser(context.caller, request, roleOf(seen));
  const known = await findTenants(deps, context, tenantsOf(wanted));
  const { partnerId } = inTenants(wanted, known, roleOf(seen));
  const now = deps.now();
  const reach = async (tx: Tx) => {
    // Again, under the lock: the role and what the caller holds may have changed since.
    const by = await actingNow(tx, context, partnerId, "users:write");
    const role = await readRole(tx, by, seen.id);
    if (!role) throw roleNotFound();
    return { by, user: inTenants(newUser(by, request, roleOf(role)), known, roleOf(role)) };
  };
  const make = async (tx: Tx, { by, user }: Awaited<ReturnType<typeof reach>>) => {
    const holders = await findEmailHolders(tx, user.email);
    if (holders.some((holder) => isInSight(by, holder))) throw emailTaken();
    const created = await insertUser(tx, uuidv7(now.getTime()), user, now);
    const inviteToken = await addInvite(deps, tx, context, created, now);
    recordPerson(
      tx,
      context,
      created,
      "user.create",
      { changes: { before: {}, after: visibleUserFields(created) } },
      now,
    );
    return { user: messageOf(created), inviteToken };
  };
  return inTurnOf(db, partnerId, () =>
    idempotentTx(db, context, UserService.method.inviteUser, request, reach, make, deps.box),
  );
}

/** A new invitation of this person, with its mail; returns its token, which is stored as a digest. */
export async function addInvite(
  { mail }: Pick<UserDeps, "mail">,
  tx: Tx,
  { caller }: CallContext,
  row: UserRow,
  now: Date,
): Promise<string> {
  const { token, hash } = newToken("inv_");
  const { id: userId, partner_id: partnerId, org_id: orgId } = row;
  const expiresAt = new Date(now.getTime() + inviteMs);
  await insertInvite(tx, { id: uuidv7(now.getTime()), userId, partnerId, orgId, hash, now, expiresAt });
  const to = { email: row.email, name: row.name };
  const invitedBy = caller.actor.name ?? caller.actor.email ?? "An administrator";
  await mail.queue(tx, { kind: "invite", to, invitedBy, link: mail.link("accept-invite", token), expiresAt }, row, now);
  return token;
}

export const roleOf = (row: RoleRow): Role => ({
  id: row.id,
  scope: row.scope,
  permissions: row.permissions,
  partnerId: row.partner_id,
  orgId: row.org_id,
});

const tenantsOf = ({ partnerId, orgId, orgIds, siteIds }: NewUser) => ({
  partnerId,
  orgIds: orgId === null ? orgIds : [orgId],
  siteIds,
});

/** The person with their partner filled in; throws when a tenant is missing or another partner's, or the role is. */
function inTenants(user: NewUser, known: KnownTenants, role: Role): NewUser {
  if (user.scope === "system") return user;
  if (user.partnerId !== null && !known.partner) throw new AppError("partner_not_found", "Partner not found");
  const own = user.orgId === null ? null : known.orgs.get(user.orgId);
  if (own === undefined) throw noOrganization();
  const partnerId = user.partnerId ?? own?.partnerId ?? null;
  if (!isRoleOf(role, { partnerId, orgId: user.orgId })) throw roleNotFound();
  requireOrganizations(partnerId, user.orgId === null ? user.orgIds : [user.orgId], known);
  requireSites({ ...user, partnerId }, user.siteIds, known);
  return { ...user, partnerId };
}

/** Each is known, not deleted, and of this partner. Throws `organization_not_found`. */
export function requireOrganizations(partnerId: string | null, orgIds: readonly string[], known: KnownTenants): void {
  if (orgIds.some((id) => known.orgs.get(id)?.partnerId !== partnerId)) throw noOrganization();
}

type Reaching = Pick<NewUser, "partnerId" | "orgId" | "orgAccess" | "orgIds">;

/** Each is known and of an organization that the person reaches. Throws `site_not_found`. */
export function requireSites(person: Reaching, siteIds: readonly string[], known: KnownTenants): void {
  const reached = person.orgId === null ? person.orgIds : [person.orgId];
  for (const siteId of siteIds) {
    const site = known.sites.get(siteId);
    const isReached = site?.orgId && (person.orgAccess === "all" || reached.includes(site.orgId));
    if (site?.partnerId !== person.partnerId || !isReached) throw new AppError("site_not_found", "Site not found");
  }
}

/** Whether the caller may see the account with an address; an account out of sight does not prevent an invitation. */
function isInSight(by: Caller, holder: { partner_id: string | null; org_id: string | null }): boolean {
  if (by.scope === "system") return true;
  if (by.scope === "organization") return holder.org_id === by.orgId;
  if (holder.partner_id !== by.partnerId) return false;
  return holder.org_id === null || by.orgAccess.mode === "all" || by.orgAccess.orgIds.includes(holder.org_id);
}
