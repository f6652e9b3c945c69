import type { Tx } from "@muster/db";
import { AppError, type CallContext, isUuid, uuidv7 } from "@muster/kit";
import {
  type InviteUserRequest,
  type InviteUserResponse,
  type User,
  UserService,
} from "@muster/proto/muster/identity/v1/user_pb";
import { idempotentTx } from "@muster/service";
import { personEvent } from "./events/audit.ts";
import type { UserDeps } from "./rpc/user.ts";
import { type NewUser, newUser, noOrganization } from "./rules/new-user.ts";
import { newToken } from "./rules/opaque-token.ts";
import { insertInvite } from "./store/invites.ts";
import { findRole } from "./store/roles.ts";
import { awaitTenants, type KnownTenants } from "./store/tenants.ts";
import { insertUser, type UserRow } from "./store/users.ts";

const inviteMs = 7 * 86_400_000;

/** Makes an invited person and the token that lets them in. Throws as newUser, `site_not_found` and `email_taken`. */
export async function inviteUser(
  deps: Pick<UserDeps, "db" | "now" | "copyLagMs" | "box" | "mail">,
  context: CallContext,
  request: InviteUserRequest,
  messageOf: (row: UserRow) => User,
): Promise<InviteUserResponse> {
  const { db } = deps;
  const role = isUuid(request.roleId) ? await findRole(db, context, request.roleId) : null;
  if (!role) throw new AppError("role_not_found", "Role not found");
  const wanted = newUser(context.caller, request, {
    id: role.id,
    scope: role.scope,
    permissions: role.permissions,
    partnerId: role.partner_id,
    orgId: role.org_id,
  });
  const user = inTenants(wanted, await awaitTenants(db, context, tenantsOf(wanted), deps.copyLagMs));
  const now = deps.now();
  const id = uuidv7(now.getTime());
  const { token, hash } = newToken("inv_");
  const make = async (tx: Tx) => {
    const created = await insertUser(tx, id, user, now);
    const { partnerId, orgId } = user;
    const expiresAt = new Date(now.getTime() + inviteMs);
    await insertInvite(tx, { id: uuidv7(now.getTime()), userId: id, partnerId, orgId, hash, now, expiresAt });
    const to = { email: created.email, name: created.name };
    const invitedBy = context.caller.actor.name ?? context.caller.actor.email ?? "An administrator";
    await deps.mail.queue(
      tx,
      { kind: "invite", to, invitedBy, link: deps.mail.link("accept-invite", token), expiresAt },
      now,
    );
    const details = { changes: { before: {}, after: visibleFields(created) } };
    tx.emit(personEvent(context, { ...created, user_id: id }, { action: "user.create", details }, now));
    return { user: messageOf(created), inviteToken: token };
  };
  return idempotentTx(db, context, UserService.method.inviteUser, request, make, deps.box);
}

const tenantsOf = ({ partnerId, orgId, orgIds, siteIds }: NewUser) => ({
  partnerId,
  orgIds: orgId === null ? orgIds : [orgId],
  siteIds,
});

/** The person with their partner filled in; throws when a tenant is missing or another partner's. */
function inTenants(user: NewUser, known: KnownTenants): NewUser {
  if (user.scope === "system") return user;
  if (user.partnerId !== null && !known.partner) throw new AppError("partner_not_found", "Partner not found");
  const own = user.orgId === null ? null : known.orgs.get(user.orgId);
  if (own === undefined) throw noOrganization();
  const partnerId = user.partnerId ?? own?.partnerId ?? null;
  const orgIds = user.orgId === null ? user.orgIds : [user.orgId];
  if (orgIds.some((id) => known.orgs.get(id)?.partnerId !== partnerId)) throw noOrganization();
  for (const siteId of user.siteIds) {
    const site = known.sites.get(siteId);
    const reached = site?.orgId && (user.orgAccess === "all" || orgIds.includes(site.orgId));
    if (site?.partnerId !== partnerId || !reached) throw new AppError("site_not_found", "Site not found");
  }
  return { ...user, partnerId };
}

/** What the audit row shows of a person. */
function visibleFields(row: UserRow): Record<string, unknown> {
  return {
    email: row.email,
    name: row.name,
    scope: row.scope,
    partnerId: row.partner_id,
    orgId: row.org_id,
    role: row.role,
    orgAccess: row.org_access,
    orgIds: row.org_ids,
    siteIds: row.site_restricted ? row.site_ids : null,
  };
}
