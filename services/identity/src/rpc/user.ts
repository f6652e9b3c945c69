import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database } from "@muster/db";
import { type CallContext, clampPage, isUuid, longerThan, validationError } from "@muster/kit";
import { type User, UserSchema, type UserService } from "@muster/proto/muster/identity/v1/user_pb";
import { callContext } from "@muster/rpc";
import { requireMfa, requirePermission, requireUser, requireWholeOrganization } from "@muster/service";
import { acceptInvite, describeInvite } from "../commands/accept-invite.ts";
import { inviteUser } from "../commands/invite-user.ts";
import { userManagement, userNotFound } from "../commands/manage-user.ts";
import type { UserDeps } from "../deps.ts";
import { userChange } from "../rules/changed-user.ts";
import { seededRoleId } from "../store/roles.ts";
import { findUser, findUserNames, listUsers, type UserRow } from "../store/users.ts";
import { choiceOrNull } from "./guards.ts";
import { organizationFilter, partnerFilter } from "./list-filters.ts";

const statuses = ["invited", "active", "disabled"];
const maxQuery = 255;
const namesMax = 100;

type Handlers = ServiceImpl<typeof UserService>;
type Manage = ReturnType<typeof userManagement>;

/** Users (docs/behaviour.md#sessions). */
export function userService(deps: UserDeps): ServiceImpl<typeof UserService> {
  const manage = userManagement(deps);
  return { ...invitations(deps, manage), ...userReads(deps), ...userChanges(deps, manage) };
}

function invitations(
  deps: UserDeps,
  manage: Manage,
): Pick<Handlers, "inviteUser" | "describeInvite" | "acceptInvite" | "resendInvite"> {
  return {
    async inviteUser(request, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      return inviteUser(deps, context, request, toMessage);
    },

    describeInvite: ({ token }, handler) => describeInvite(deps, callContext(handler), token),

    async acceptInvite(request, handler) {
      await acceptInvite(deps, callContext(handler), request);
      return {};
    },

    async resendInvite(request, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      return manage.invite(context, request, toMessage);
    },
  };
}

function userReads(deps: UserDeps): Pick<Handlers, "listUserNames" | "listUsers" | "getUser"> {
  const { db } = deps;
  return {
    async listUserNames({ ids }, handler) {
      const context = callContext(handler);
      requireReader(context);
      if (ids.length > namesMax) throw validationError({ ids: [`At most ${namesMax}`] });
      if (!ids.every(isUuid)) throw validationError({ ids: ["Must be UUIDs"] });
      const rows = await findUserNames(db, context, ids);
      const names = rows.map(({ id, name, partner_id, org_id }) => ({
        id,
        name,
        partnerId: partner_id ?? "",
        orgId: org_id ?? "",
      }));
      return { names };
    },

    async listUsers(request, handler) {
      const context = callContext(handler);
      requireReader(context);
      const filter = {
        partnerId: await partnerFilter(deps, context, request.partnerId),
        orgId: await organizationFilter(deps, context, request.orgId),
        roleId: await roleFilter(db, context, request.role),
        status: choiceOrNull(request.status, "status", statuses),
        mfaEnabled: request.mfaEnabled ?? null,
        query: queryOrNull(request.query),
      };
      const { rows, info } = await listUsers(db, context, filter, clampPage(request.page ?? {}));
      return { users: rows.map(toMessage), page: info };
    },

    async getUser({ id }, handler) {
      const context = callContext(handler);
      requireReader(context);
      const row = isUuid(id) ? await findUser(db, context, id) : null;
      if (!row) throw userNotFound();
      return { user: toMessage(row) };
    },
  };
}

function userChanges(
  deps: UserDeps,
  manage: Manage,
): Pick<Handlers, "updateUser" | "disableUser" | "endUserSessions" | "resetUserFactors" | "enableUser" | "deleteUser"> {
  return {
    async updateUser({ id, updateMask, user }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      const wanted = userChange(updateMask?.paths ?? [], user ?? create(UserSchema));
      return { user: toMessage(await manage.update(context, id, wanted)) };
    },

    async disableUser({ id }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      return { user: toMessage(await manage.disable(context, id)) };
    },

    async endUserSessions({ id }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      return { ended: await manage.endSessions(context, id) };
    },

    async resetUserFactors({ id }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      return manage.resetFactors(context, id);
    },

    async enableUser({ id }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      return { user: toMessage(await manage.enable(context, id)) };
    },

    async deleteUser({ id }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      await manage.remove(context, id);
      return {};
    },
  };
}

function requireReader(context: CallContext) {
  requireUser(context);
  requirePermission(context, "users:read");
}

function requireWriter(deps: UserDeps, context: CallContext) {
  requireUser(context);
  requirePermission(context, "users:write");
  requireMfa(context, deps.mfaMaxAgeMinutes, deps.now());
  requireWholeOrganization(context);
}

/** A role by id, or a seeded one by its key. Throws `validation_failed`. */
async function roleFilter(db: Database, context: CallContext, role: string): Promise<string | null> {
  if (role === "" || isUuid(role)) return role.toLowerCase() || null;
  const id = await seededRoleId(db, context, role);
  if (id === null) throw validationError({ role: ["Id of a role, or key of a seeded one"] });
  return id;
}

function queryOrNull(query: string): string | null {
  if (longerThan(query, maxQuery) || query.includes("\0")) {
    throw validationError({ search: [`At most ${maxQuery} characters`] });
  }
  return query.trim() || null;
}

function toMessage(row: UserRow): User {
  return create(UserSchema, {
    id: row.id,
    email: row.email,
    emailProven: row.email_proof !== null,
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
    ...(row.managed_by ? { managedBy: row.managed_by } : {}),
    mfaEnabled: row.mfa_enabled,
    lastLoginAt: row.last_login_at ? timestampFromDate(row.last_login_at) : undefined,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
  });
}
