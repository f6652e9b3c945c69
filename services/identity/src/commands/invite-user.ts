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
import { recordUser, visibleUserFields } from "../emits/user-facts.ts";
import { addressNotAllowed, type Holder, type Tenant } from "../rules/address-owner.ts";
import { isRoleOf, type NewUser, newUser, noOrganization, type Role, roleNotFound } from "../rules/new-user.ts";
import { newToken } from "../rules/opaque-token.ts";
import { findHolders } from "../store/addresses.ts";
import { insertInvite } from "../store/invites.ts";
import { findRole, type RoleRow, readRole } from "../store/roles.ts";
import { type CachedTenants, findTenants } from "../store/tenants.ts";
import { emailTaken, insertUser, type UserRow } from "../store/users.ts";
import { actingNow, serializedByPartner } from "./administer.ts";
import { invitedAddress, invitesAs } from "./claim-address.ts";

const inviteMs = 7 * 86_400_000;

/**
 * Creates an invited user and the invitation's token. Throws as newUser, `site_not_found`, `domain_not_allowed` in a
 * domain that another tenant has verified, and `email_taken` when the caller can see the proven account with the
 * address.
 */
export async function inviteUser(
  deps: Pick<UserDeps, "db" | "now" | "learnTenants" | "box" | "mail" | "showsInvites">,
  context: CallContext,
  request: InviteUserRequest,
  messageOf: (row: UserRow) => User,
): Promise<InviteUserResponse> {
  const { db } = deps;
  const seen = isUuid(request.roleId) ? await findRole(db, context, request.roleId) : null;
  if (!seen) throw roleNotFound();
  const wanted = newUser(context.caller, request, roleOf(seen));
  const cached = await findTenants(deps, context, tenantsOf(wanted));
  const { partnerId } = inTenants(wanted, cached, roleOf(seen));
  const now = deps.now();
  const locate = async (tx: Tx) => {
    // Again, under the lock: the role and what the caller holds may have changed since.
    const by = await actingNow(tx, context, partnerId, "users:write");
    const role = await readRole(tx, by, seen.id);
    if (!role) throw roleNotFound();
    return { by, user: inTenants(newUser(by, request, roleOf(role)), cached, roleOf(role)) };
  };
  const make = async (tx: Tx, { by, user }: Awaited<ReturnType<typeof locate>>) => {
    const address = await invitedAddress(tx, invitesAs(by, user), user.email);
    if (!address) throw addressNotAllowed();
    if ((await findHolders(tx, user.email)).some((holder) => isTaken(by, user, holder))) throw emailTaken();
    const created = await insertUser(tx, uuidv7(now.getTime()), address, user, now);
    const inviteToken = await addInvite(deps, tx, by, created, now);
    recordUser(
      tx,
      context,
      created,
      "user.create",
      { changes: { before: {}, after: visibleUserFields(created) } },
      now,
    );
    return { user: messageOf(created), inviteToken };
  };
  return serializedByPartner(db, partnerId, () =>
    idempotentTx(db, context, UserService.method.inviteUser, request, locate, make, deps.box),
  );
}

/**
 * A new invitation of this user, with its mail. Returns its token, which is stored as a digest, or nothing where the
 * inviter does not see it: then the link shows whoever follows it to be the owner of the mailbox.
 */
export async function addInvite(
  { mail, showsInvites }: Pick<UserDeps, "mail" | "showsInvites">,
  tx: Tx,
  by: Caller,
  row: UserRow,
  now: Date,
): Promise<string> {
  const { token, hash } = newToken("inv_");
  const { id: userId, partner_id: partnerId, org_id: orgId } = row;
  const expiresAt = new Date(now.getTime() + inviteMs);
  const ofPartner = orgId !== null && invitesAs(by, { partnerId, orgId }).orgId === null;
  const times = { now, expiresAt };
  const id = uuidv7(now.getTime());
  const invitedBy = by.actor.name ?? by.actor.email ?? "An administrator";
  const invite = { id, userId, partnerId, orgId, hash, byMailAlone: !showsInvites, ofPartner, invitedBy, ...times };
  await insertInvite(tx, invite);
  const to = { email: row.email, name: row.name };
  await mail.queue(tx, { kind: "invite", to, invitedBy, link: mail.link("accept-invite", token), expiresAt }, row, now);
  return showsInvites ? token : "";
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

/** The user with their partner filled in; throws when a tenant is missing or another partner's, or the role is. */
function inTenants(user: NewUser, cached: CachedTenants, role: Role): NewUser {
  if (user.scope === "system") return user;
  if (user.partnerId !== null && !cached.partner) throw new AppError("partner_not_found", "Partner not found");
  const own = user.orgId === null ? null : cached.orgs.get(user.orgId);
  if (own === undefined) throw noOrganization();
  const partnerId = user.partnerId ?? own?.partnerId ?? null;
  if (!isRoleOf(role, { partnerId, orgId: user.orgId })) throw roleNotFound();
  requireOrganizations(partnerId, user.orgId === null ? user.orgIds : [user.orgId], cached);
  requireSites({ ...user, partnerId }, user.siteIds, cached);
  return { ...user, partnerId };
}

/** Each is known, not deleted, and of this partner. Throws `organization_not_found`. */
export function requireOrganizations(partnerId: string | null, orgIds: readonly string[], cached: CachedTenants): void {
  if (orgIds.some((id) => cached.orgs.get(id)?.partnerId !== partnerId)) throw noOrganization();
}

type WithAccess = Pick<NewUser, "partnerId" | "orgId" | "orgAccess" | "orgIds">;

/** Each exists, in an organization to which the user has access. Throws `site_not_found`. */
export function requireSites(user: WithAccess, siteIds: readonly string[], cached: CachedTenants): void {
  const orgIds = user.orgId === null ? user.orgIds : [user.orgId];
  for (const siteId of siteIds) {
    const site = cached.sites.get(siteId);
    const isInScope = site?.orgId && (user.orgAccess === "all" || orgIds.includes(site.orgId));
    if (site?.partnerId !== user.partnerId || !isInScope) throw new AppError("site_not_found", "Site not found");
  }
}

/**
 * Whether an invitation is refused because somebody has its address: in the same tenant, or with a proven account in
 * the caller's scope. Accounts that are not visible prevent none, and unproven ones none in another tenant.
 */
function isTaken(by: Caller, user: NewUser, { tenant, proof }: Holder): boolean {
  if (tenant.partnerId === user.partnerId && tenant.orgId === user.orgId) return true;
  return proof !== null && isVisibleTo(by, tenant);
}

function isVisibleTo(by: Caller, { partnerId, orgId }: Tenant): boolean {
  if (by.scope === "system") return true;
  if (by.scope === "organization") return orgId === by.orgId;
  if (partnerId !== by.partnerId) return false;
  return orgId === null || by.orgAccess.mode === "all" || by.orgAccess.orgIds.includes(orgId);
}
