import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { AppError, type CallContext, clampPage, isUuid, type Permission, uuidv7 } from "@muster/kit";
import { type Role, RoleSchema, RoleService } from "@muster/proto/muster/identity/v1/role_pb";
import { callContext } from "@muster/rpc";
import {
  changesBetween,
  idempotentTx,
  requireMfa,
  requirePermission,
  requireUser,
  requireWholeOrganization,
} from "@muster/service";
import { actingNow, administration, serializedByPartner } from "../commands/administer.ts";
import type { RoleDeps } from "../deps.ts";
import { appliedEverywhere } from "../emits/applied-everywhere.ts";
import { recordRole, roleChanged, visibleRoleFields } from "../emits/role-facts.ts";
import { grantable } from "../rules/catalogue.ts";
import { requireAdministrator } from "../rules/delegation.ts";
import { noOrganization, roleNotFound } from "../rules/new-user.ts";
import { changedRole, maxRoles, type NewRole, newRole, requireWritable, roleChange } from "../rules/role.ts";
import { holdersOfRole, otherAdministrators } from "../store/administration.ts";
import {
  countRoles,
  deleteRole,
  findRole,
  insertRole,
  listRoles,
  type RoleRow,
  readRole,
  updateRole,
} from "../store/roles.ts";
import { type CachedTenants, findTenants } from "../store/tenants.ts";
import { choiceOrNull } from "./guards.ts";
import { organizationFilter, partnerFilter } from "./list-filters.ts";

const scopes = ["system", "partner", "organization"];
const permission: Permission = "roles:write";

type Handlers = ServiceImpl<typeof RoleService>;
type Parts = RoleDeps & { administer: ReturnType<typeof administration> };

/** Roles, seeded and custom (docs/behaviour.md#who-may-call-what). */
export function roleService(base: RoleDeps): ServiceImpl<typeof RoleService> {
  const deps: Parts = { ...base, administer: administration(base.db) };
  return { ...roleReads(deps), ...roleChanges(deps), ...roleRemoval(deps) };
}

function roleReads(deps: Parts): Pick<Handlers, "listRoles" | "getRole"> {
  const { db } = deps;
  return {
    async listRoles(request, handler) {
      const context = callContext(handler);
      requireReader(context);
      const filter = {
        partnerId: await partnerFilter(deps, context, request.partnerId),
        orgId: await organizationFilter(deps, context, request.orgId),
        scope: choiceOrNull(request.scope, "scope", scopes),
      };
      const { rows, info } = await listRoles(db, context, filter, clampPage(request.page ?? {}));
      return { roles: rows.map(roleMessage), page: info };
    },

    async getRole({ id }, handler) {
      const context = callContext(handler);
      requireReader(context);
      return { role: roleMessage(await requireRole(deps, context, id)) };
    },
  };
}

function roleChanges(deps: Parts): Pick<Handlers, "createRole" | "updateRole"> {
  const { db, now, administer } = deps;
  return {
    async createRole(request, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      const at = now();
      const tenant = inTenant(newRole(context.caller, request), await tenantsOf(deps, context, request));
      const locate = async (tx: Tx) => {
        const by = await actingNow(tx, context, tenant.partnerId, permission);
        return { ...newRole(by, request), partnerId: tenant.partnerId };
      };
      const make = async (tx: Tx, role: Awaited<ReturnType<typeof locate>>) => {
        if ((await countRoles(tx, role)) >= maxRoles) {
          throw new AppError("limit_reached", "No more roles can be created here", { facts: { limit: maxRoles } });
        }
        const row = await insertRole(tx, uuidv7(at.getTime()), role, at);
        recordRole(tx, context, row, "role.create", { changes: { before: {}, after: visibleRoleFields(row) } }, at);
        return { role: roleMessage(row) };
      };
      return serializedByPartner(db, tenant.partnerId, () =>
        idempotentTx(db, context, RoleService.method.createRole, request, locate, make),
      );
    },

    async updateRole({ id, updateMask, role }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      const wanted = roleChange(updateMask?.paths ?? [], role ?? create(RoleSchema));
      const seen = await requireRole(deps, context, id);
      const at = now();
      const { row, messageId } = await administer(
        context,
        { partnerId: seen.partner_id, permission },
        async (tx, by) => {
          const before = await readRole(tx, by, id);
          if (!before) throw roleNotFound();
          const after = changedRole(by, storedRole(before), wanted);
          await keepAdministrator(tx, before, after.permissions);
          return { before, after };
        },
        async (tx, { before, after }) => {
          const updated = await updateRole(tx, id, after, at);
          const { users } = await holdersOfRole(tx, id);
          const differences = changesBetween(visibleRoleFields(before), visibleRoleFields(updated));
          recordRole(tx, context, updated, "role.update", { ...differences, people: users }, at);
          const message = roleChanged(before);
          tx.emit(message);
          return { row: updated, messageId: message.msgId };
        },
      );
      await appliedEverywhere(db, [messageId]);
      return { role: roleMessage(row) };
    },
  };
}

function roleRemoval(deps: Parts): Pick<Handlers, "deleteRole"> {
  const { now, administer } = deps;
  return {
    async deleteRole({ id }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      const seen = await requireRole(deps, context, id);
      const at = now();
      await administer(
        context,
        { partnerId: seen.partner_id, permission },
        async (tx, by) => {
          const before = await readRole(tx, by, id);
          if (!before) throw roleNotFound();
          requireWritable(by, storedRole(before));
          if ((await holdersOfRole(tx, id)).users > 0) throw roleInUse();
          return before;
        },
        async (tx, before) => {
          if (!(await deleteRole(tx, id))) throw roleInUse();
          recordRole(
            tx,
            context,
            before,
            "role.delete",
            { changes: { before: visibleRoleFields(before), after: {} } },
            at,
          );
        },
      );
      return {};
    },
  };
}

function requireWriter(deps: Parts, context: CallContext) {
  const { now } = deps;
  requireUser(context);
  requirePermission(context, permission);
  requireMfa(context, deps.mfaMaxAgeMinutes, now());
  requireWholeOrganization(context);
}

function requireReader(context: CallContext) {
  requireUser(context);
  requirePermission(context, "roles:read");
}

async function requireRole({ db }: Parts, context: CallContext, id: string): Promise<RoleRow> {
  const row = isUuid(id) ? await findRole(db, context, id) : null;
  if (!row) throw roleNotFound();
  return row;
}

/** The tenants that a new role names. */
function tenantsOf(deps: RoleDeps, context: CallContext, request: { partnerId: string; orgId: string }) {
  const { caller } = context;
  const orgId = request.orgId || caller.orgId;
  const partnerId = request.partnerId || caller.partnerId;
  return findTenants(deps, context, { partnerId, orgIds: orgId ? [orgId] : [], siteIds: [] });
}

/** With its partner filled in; throws when a tenant is missing, or the organization another partner's. */
function inTenant(role: NewRole, cached: CachedTenants): { partnerId: string } {
  if (role.partnerId !== null && !cached.partner) throw new AppError("partner_not_found", "Partner not found");
  const org = role.orgId === null ? null : cached.orgs.get(role.orgId);
  if (org === undefined) throw noOrganization();
  const partnerId = role.partnerId ?? org?.partnerId;
  if (!partnerId || (org && org.partnerId !== partnerId)) throw noOrganization();
  return { partnerId };
}

/** A custom role can be what makes its holders administrators of their partner. Throws `last_administrator`. */
async function keepAdministrator(tx: Tx, before: RoleRow, permissions: readonly string[]): Promise<void> {
  const isEnough = (held: readonly string[]) => grantable("partner").every((p) => held.includes(p));
  if (before.scope !== "partner" || !isEnough(before.permissions) || isEnough(permissions)) return;
  const { scope, partner_id: partnerId, id: roleId } = before;
  const others = await otherAdministrators(tx, { scope, partnerId }, { roleId });
  requireAdministrator(await holdersOfRole(tx, roleId), { any: false, ofAll: false }, others);
}

const storedRole = (row: RoleRow) => ({ ...row, orgId: row.org_id });

const roleInUse = () => new AppError("role_in_use", "The role is in use: give its users another one first");

function roleMessage(row: RoleRow): Role {
  return create(RoleSchema, {
    id: row.id,
    key: row.key ?? "",
    name: row.name,
    description: row.description,
    scope: row.scope,
    permissions: row.permissions,
    partnerId: row.partner_id ?? "",
    orgId: row.org_id ?? "",
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
  });
}
