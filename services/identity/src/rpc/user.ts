import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database } from "@muster/db";
import { AppError, clampPage, isUuid } from "@muster/kit";
import {
  type Role,
  RoleSchema,
  type User,
  UserSchema,
  type UserService,
} from "@muster/proto/muster/identity/v1/user_pb";
import { callContext } from "@muster/rpc";
import { type ReplyBox, requireMfa, requirePermission } from "@muster/service";
import { acceptInvite } from "../accept-invite.ts";
import { inviteUser } from "../invite-user.ts";
import type { MailQueue } from "../mail-queue.ts";
import type { Passwords } from "../passwords.ts";
import { listAssignableRoles, type RoleRow } from "../store/roles.ts";
import { findUser, listUsers, type UserRow } from "../store/users.ts";
import { organizationFilter, partnerFilter } from "./list-filters.ts";

export type UserDeps = {
  db: Database;
  passwords: Passwords;
  mail: MailQueue;
  now: () => Date;
  mfaMaxAgeMinutes: number;
  /** Seals the replies that are kept for repeats: they hold invitations. */
  box: ReplyBox;
  /** Milliseconds that the copy of the tenants may be behind tenancy before something counts as missing. */
  copyLagMs: number;
};

/** People and roles (01-conventions, "Sessions"). */
export function userService(deps: UserDeps): ServiceImpl<typeof UserService> {
  const { db } = deps;
  return {
    async inviteUser(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "users:write");
      requireMfa(context, deps.mfaMaxAgeMinutes, deps.now());
      return inviteUser(deps, context, request, toMessage);
    },

    async acceptInvite(request, handler) {
      await acceptInvite(deps, callContext(handler), request);
      return {};
    },

    async listUsers(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "users:read");
      const page = clampPage(request.page ?? {});
      const filter = {
        partnerId: await partnerFilter(deps, context, request.partnerId),
        orgId: await organizationFilter(deps, context, request.orgId),
      };
      const { rows, total, nextCursor } = await listUsers(db, context, filter, page);
      return {
        users: rows.map(toMessage),
        page: { page: page.page, limit: page.limit, nextCursor, ...(total === null ? {} : { total: BigInt(total) }) },
      };
    },

    async getUser({ id }, handler) {
      const context = callContext(handler);
      requirePermission(context, "users:read");
      const row = isUuid(id) ? await findUser(db, context, id) : null;
      if (!row) throw new AppError("user_not_found", "User not found");
      return { user: toMessage(row) };
    },

    async listRoles(_request, handler) {
      const context = callContext(handler);
      requirePermission(context, "roles:read");
      return { roles: (await listAssignableRoles(db, context)).map(roleMessage) };
    },
  };
}

function toMessage(row: UserRow): User {
  return create(UserSchema, {
    id: row.id,
    email: row.email,
    name: row.name,
    department: row.department ?? "",
    scope: row.scope,
    partnerId: row.partner_id ?? "",
    orgId: row.org_id ?? "",
    roleId: row.role_id,
    role: row.role ?? "",
    orgAccess: row.org_access,
    orgIds: row.org_ids,
    siteRestricted: row.site_restricted,
    siteIds: row.site_ids,
    status: row.status,
    mfaEnabled: row.mfa_enabled,
    lastLoginAt: row.last_login_at ? timestampFromDate(row.last_login_at) : undefined,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
  });
}

function roleMessage(row: RoleRow): Role {
  return create(RoleSchema, {
    id: row.id,
    key: row.key ?? "",
    name: row.name,
    scope: row.scope,
    permissions: row.permissions,
    partnerId: row.partner_id ?? "",
    orgId: row.org_id ?? "",
  });
}
