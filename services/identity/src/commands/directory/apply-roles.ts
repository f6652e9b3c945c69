import type { Tx } from "@muster/db";
import { AppError, type CallContext } from "@muster/kit";
import { userEvent } from "../../emits/audit.ts";
import { userChanged } from "../../emits/auth.ts";
import { grantable } from "../../rules/catalogue.ts";
import type { MappedDirectory } from "../../rules/directory/directory.ts";
import { type Cause, type MappedRole, type MappingRule, mappedRole } from "../../rules/directory/role-mapping.ts";
import { ownerOf } from "../../rules/owner.ts";
import { principalCaller } from "../../rules/principal.ts";
import { mayProvision } from "../../rules/sso/may-provision.ts";
import { otherAdministrators } from "../../store/administration.ts";
import { keysCreatedBy } from "../../store/api-keys.ts";
import {
  hasOtherAdministrator,
  lockStandings,
  readMappings,
  type StandingRow,
  writeStanding,
} from "../../store/directory/role-mappings.ts";
import { withdrawInvites } from "../../store/invites.ts";
import { readPrincipal } from "../../store/principals.ts";
import { readRole } from "../../store/roles.ts";
import { endSessions } from "../end-sessions.ts";

type Who = Pick<CallContext, "caller" | "meta">;

/** Roles that a directory gives, as its mapping and its grantors are now. */
export type RoleRules = {
  rules: readonly MappingRule[];
  defaultRoleId: string | null;
  /** Of the roles of both. */
  permissions: ReadonlyMap<string, readonly string[]>;
  names: ReadonlyMap<string, string>;
};

/** Users whose roles are written in one batch. */
const batch = 1_000;
const keysListed = 100;

/** The mapping of a directory; each row's author is checked again (rules/sso/may-provision.ts). */
export async function readRules(tx: Tx, context: Who, directory: MappedDirectory): Promise<RoleRules> {
  const owner = ownerOf(directory);
  const grantors = new Map<string, Awaited<ReturnType<typeof readPrincipal>>>();
  const mayGrant = async (by: string | null, role: Parameters<typeof mayProvision>[1]): Promise<boolean> => {
    if (by === null) return false;
    if (!grantors.has(by)) grantors.set(by, await readPrincipal(tx, by));
    const user = grantors.get(by) ?? null;
    return user !== null && mayProvision({ caller: principalCaller(user), status: user.status }, role, owner);
  };
  const permissions = new Map<string, readonly string[]>();
  const names = new Map<string, string>();
  const rules: MappingRule[] = [];
  const { default_role_id: wanted, default_role_by: by } = directory;
  const [mappings, role] = await Promise.all([
    readMappings(tx, directory.id),
    wanted === null ? null : readRole(tx, context.caller, wanted),
  ]);
  for (const row of mappings) {
    permissions.set(row.role_id, row.permissions);
    names.set(row.role_id, row.role);
    rules.push({
      id: row.id,
      groupId: row.group_id,
      claim: row.claim,
      roleId: row.role_id,
      siteIds: row.site_ids,
      isGranted: await mayGrant(row.granted_by, row),
    });
  }
  if (role) {
    permissions.set(role.id, role.permissions);
    names.set(role.id, role.key ?? role.name);
  }
  const defaultRoleId = role && (await mayGrant(by, role)) ? role.id : null;
  return { rules, defaultRoleId, permissions, names };
}

/**
 * Gives users the roles that the mapping says, and takes access from those whom it gives none or whom the directory
 * has deactivated; their sessions end. The last administrator of a tenant keeps the role, which is audited; with
 * `mayRefuse` it throws `last_administrator` instead. Returns ids of messages to wait for (appliedEverywhere).
 */
export async function applyRoles(
  tx: Tx,
  context: Who,
  directory: MappedDirectory,
  userIds: readonly string[],
  { cause, mayRefuse = false, rules }: { cause: Cause; mayRefuse?: boolean; rules?: RoleRules },
  now: Date,
): Promise<string[]> {
  if (userIds.length === 0) return [];
  const roleRules = rules ?? (await readRules(tx, context, directory));
  const messages: string[] = [];
  for (let at = 0; at < userIds.length; at += batch) {
    for (const row of await lockStandings(tx, directory, userIds.slice(at, at + batch))) {
      const mapped = mappedRole(
        roleRules.rules,
        { groupIds: row.group_ids, claims: row.claims },
        roleRules.defaultRoleId,
      );
      messages.push(...(await applyOne(tx, context, directory, row, mapped, { roleRules, cause, mayRefuse }, now)));
    }
  }
  return messages;
}

type Application = { roleRules: RoleRules; cause: Cause; mayRefuse: boolean };

async function applyOne(
  tx: Tx,
  context: Who,
  directory: MappedDirectory,
  row: StandingRow,
  mapped: MappedRole | null,
  { roleRules, cause, mayRefuse }: Application,
  now: Date,
): Promise<string[]> {
  const before = { roleId: row.role_id, siteIds: row.site_restricted ? row.site_ids : null, status: row.status };
  const after = {
    // Without access the role stays as it was: nobody can use it.
    roleId: mapped?.roleId ?? row.role_id,
    siteIds: mapped === null ? before.siteIds : mapped.siteIds && [...mapped.siteIds].sort(),
    status: !row.is_managed ? row.status : row.active && mapped !== null ? "active" : "disabled",
  };
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const user = { user_id: row.user_id, name: row.name, org_id: row.org_id, partner_id: row.partner_id };
  const via = { directoryId: directory.id, directory: directory.name, cause, rule: ruleOf(mapped) };
  const permissions = roleRules.permissions.get(after.roleId) ?? row.permissions;
  if (!(await keepsAdministrator(tx, row, { ...after, permissions }))) {
    if (mayRefuse) throw new AppError("last_administrator", "The last administrator cannot be removed");
    const failed = { result: "denied" as const, message: "The last administrator keeps the role" };
    const details = { via, changes: { before, after } };
    tx.emit(userEvent(context, user, { action: "user.permission.change", details, failed }, now));
    return [];
  }
  const standing = { partnerId: row.partner_id, orgId: row.org_id, ...after };
  const version = await writeStanding(tx, row.user_id, standing, now);
  const message = userChanged(row.user_id, version);
  tx.emit(message);
  if (before.roleId !== after.roleId || JSON.stringify(before.siteIds) !== JSON.stringify(after.siteIds)) {
    const nameOf = (roleId: string) => (roleId === row.role_id ? row.role : (roleRules.names.get(roleId) ?? null));
    const of = ({ roleId, siteIds }: typeof before) => ({ roleId, role: nameOf(roleId), siteIds });
    const details = { via, changes: { before: of(before), after: of(after) } };
    tx.emit(userEvent(context, user, { action: "user.permission.change", details }, now));
  }
  if (before.status === after.status) return [message.msgId];
  const isEnded = after.status === "disabled";
  const kept = isEnded ? await keysCreatedBy(tx, row.user_id, keysListed) : [];
  const changes = { before: { status: before.status }, after: { status: after.status } };
  const details = { via, changes, ...(kept.length > 0 ? { apiKeysKept: kept } : {}) };
  tx.emit(userEvent(context, user, { action: isEnded ? "user.disable" : "user.enable", details }, now));
  return [message.msgId, ...(isEnded ? await endAccess(tx, context, row.user_id, now) : [])];
}

/** Ends a user's sessions and open invitations; returns ids of messages to wait for. */
export async function endAccess(tx: Tx, context: Who, userId: string, now: Date): Promise<string[]> {
  await withdrawInvites(tx, userId);
  const principal = await readPrincipal(tx, userId);
  return principal ? endSessions(tx, context, principal, { except: null }, "user_disabled", now) : [];
}

const ruleOf = (mapped: MappedRole | null) => mapped?.ruleId ?? (mapped === null ? "none" : "default");

type After = { status: string; siteIds: readonly string[] | null; permissions: readonly string[] };

/** Whether the tenant still has an administrator who can repair a wrong mapping. */
export async function keepsAdministrator(tx: Tx, row: StandingRow, after: After | null): Promise<boolean> {
  const all = grantable(row.scope);
  const holds = (permissions: readonly string[]) => all.every((permission) => permissions.includes(permission));
  const was = row.status === "active" && !row.site_restricted && holds(row.permissions);
  const will = after?.status === "active" && after.siteIds === null && holds(after.permissions);
  if (!was || will) return true;
  if (row.org_id !== null) {
    return hasOtherAdministrator(tx, { orgId: row.org_id, userId: row.user_id, permissions: all });
  }
  const others = await otherAdministrators(
    tx,
    { scope: "partner", partnerId: row.partner_id },
    { userId: row.user_id },
  );
  return others.any && (others.ofAll || row.org_access !== "all");
}
