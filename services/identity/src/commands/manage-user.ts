import type { Tx } from "@muster/db";
import { AppError, type CallContext, type Caller, isUuid } from "@muster/kit";
import {
  type ResendInviteRequest,
  type ResendInviteResponse,
  type User,
  UserService,
} from "@muster/proto/muster/identity/v1/user_pb";
import { idempotentTx } from "@muster/service";
import type { UserDeps } from "../deps.ts";
import { appliedEverywhere } from "../emits/applied-everywhere.ts";
import { userChanged } from "../emits/auth.ts";
import { recordUser, recordUserChange, visibleUserFields } from "../emits/user-facts.ts";
import { addressNotAllowed } from "../rules/address-owner.ts";
import { grantable } from "../rules/catalogue.ts";
import { changedUser, type Standing, type UserChange } from "../rules/changed-user.ts";
import { type Administration, requireAbove, requireAdministrator } from "../rules/delegation.ts";
import { managedBy } from "../rules/directory/managed-by.ts";
import { roleNotFound } from "../rules/new-user.ts";
import { ownerOf } from "../rules/owner.ts";
import type { PrincipalRow } from "../rules/principal.ts";
import { otherAdministrators } from "../store/administration.ts";
import { resetFactors } from "../store/factors.ts";
import { withdrawInvites } from "../store/invites.ts";
import { readPrincipal } from "../store/principals.ts";
import { readRole } from "../store/roles.ts";
import { findTenants } from "../store/tenants.ts";
import { deleteUser, disableUser, enableUser, findUser, lockUser, type UserRow, updateUser } from "../store/users.ts";
import { type Administer, actingNow, administration, serializedByPartner } from "./administer.ts";
import { invitedAddress, invitesAs } from "./claim-address.ts";
import { endSessions } from "./end-sessions.ts";
import { addInvite, requireOrganizations, requireSites, roleOf } from "./invite-user.ts";

type Deps = Pick<UserDeps, "db" | "now" | "mail" | "box" | "learnTenants" | "showsInvites">;

/** Changes of existing users; each returns once every gateway has applied it. */
export function userManagement(deps: Deps) {
  return { ...userChanges(deps), ...accessEnds(deps), ...accessStarts(deps) };
}

function userChanges(deps: Deps) {
  const { db, now } = deps;
  return {
    /** Throws as changedUser, `organization_not_found`, `site_not_found`, `last_administrator`. */
    async update(context: CallContext, id: string, wanted: UserChange): Promise<UserRow> {
      const at = now();
      const tenants = { partnerId: null, orgIds: wanted.orgIds ?? [], siteIds: wanted.siteIds ?? [] };
      const named = tenants.orgIds.length + tenants.siteIds.length > 0;
      const cached = named ? await findTenants(deps, context, tenants) : null;
      const { row, messageId } = await change(
        deps,
        context,
        id,
        async (tx, by, { row: before, user }) => {
          // Directories know no organizations of a partner's users: these are given by hand.
          const { orgAccess: _, orgIds: __, ...managed } = wanted;
          if (Object.keys(managed).length > 0) requireUnmanaged(before);
          const role = wanted.roleId === undefined ? null : await readRole(tx, by, wanted.roleId);
          if (wanted.roleId !== undefined && !role) throw roleNotFound();
          const after = changedUser(by, standingOf(before, user), wanted, role && roleOf(role));
          // What is not named may since have been deleted: it stays as it is.
          if (cached) {
            requireOrganizations(after.partnerId, wanted.orgIds ?? [], cached);
            requireSites(after, wanted.siteIds ?? [], cached);
          }
          await keepAdministrator(tx, before, user, { ...after, permissions: after.role.permissions });
          return after;
        },
        async (tx, after, { row: before }) => {
          const updated = await updateUser(tx, id, after, at);
          recordUserChange(tx, context, before, updated.row, at);
          return { row: updated.row, messageId: announce(tx, id, updated.version) };
        },
      );
      await appliedEverywhere(db, [messageId]);
      return row;
    },

    /** Throws `last_administrator`. */
    async remove(context: CallContext, id: string): Promise<void> {
      const at = now();
      const messageId = await change(
        deps,
        context,
        id,
        (tx, _by, { row: before, user }) => {
          requireUnmanaged(before);
          return keepAdministrator(tx, before, user, null);
        },
        async (tx, _checked, { row, user }) => {
          await deleteUser(tx, id);
          const changes = { before: { ...visibleUserFields(row), status: row.status }, after: {} };
          recordUser(tx, context, row, "user.delete", { changes }, at);
          return announce(tx, id, user.version + 1);
        },
      );
      await appliedEverywhere(db, [messageId]);
    },
  };
}

function accessEnds(deps: Deps) {
  const { db, now } = deps;
  return {
    /** Throws `last_administrator`. Idempotent; a repeat leaves no audit row. */
    async disable(context: CallContext, id: string): Promise<UserRow> {
      const at = now();
      const { row, messageId } = await change(
        deps,
        context,
        id,
        (tx, _by, { row: before, user }) => {
          requireUnmanaged(before);
          return keepAdministrator(tx, before, user, null);
        },
        async (tx, _checked, { row: before, user }) => {
          // Announced again when nothing changes: the first call may still be waiting, and this one guarantees the
          // same.
          if (before.status === "disabled") return { row: before, messageId: announce(tx, id, user.version) };
          const disabled = await disableUser(tx, id, at);
          recordUser(tx, context, before, "user.disable", statusChange(before, disabled.row), at);
          return { row: disabled.row, messageId: announce(tx, id, disabled.version) };
        },
      );
      await appliedEverywhere(db, [messageId]);
      return row;
    },

    /** How many sessions it ended; when it answers each is refused everywhere. The user may sign in again. */
    async endSessions(context: CallContext, id: string): Promise<number> {
      const at = now();
      const messageIds = await change(
        deps,
        context,
        id,
        async () => null,
        async (tx, _checked, { row, user }) => {
          const ended = await endSessions(tx, context, user, { except: null }, "revoked", at);
          recordUser(tx, context, row, "user.sessions.end", { ended: ended.length }, at);
          return ended;
        },
      );
      await appliedEverywhere(db, messageIds);
      return messageIds.length;
    },

    /**
     * Removes every second factor and ends every session: the user signs in without one and enrolls a new one. Returns
     * the removed factors and the number of ended sessions. Idempotent. Refuses the caller's own factors: otherwise a
     * session alone could remove them.
     */
    async resetFactors(context: CallContext, id: string) {
      const at = now();
      const { messageIds, ...removed } = await change(
        deps,
        context,
        id,
        async () => {
          if (id !== context.caller.actor.id) return null;
          const message = "Your own second factors are removed in your profile, with your password";
          throw new AppError("delegation_denied", message);
        },
        async (tx, _checked, { row, user }) => {
          const { version, ...had } = await resetFactors(tx, id, at);
          const ended = await endSessions(tx, context, user, { except: null }, "revoked", at);
          recordUser(tx, context, row, "user.factors.reset", { ...had, ended: ended.length }, at);
          const to = { email: row.email, name: row.name };
          if (had.totp || had.passkeys > 0) await deps.mail.queue(tx, { kind: "factors_reset", to, at }, row, at);
          return { ...had, ended: ended.length, messageIds: [announce(tx, id, version), ...ended] };
        },
      );
      await appliedEverywhere(db, messageIds);
      return removed;
    },
  };
}

function accessStarts(deps: Deps) {
  const { db, now } = deps;
  return {
    async enable(context: CallContext, id: string): Promise<UserRow> {
      const at = now();
      const { row, messageId } = await change(
        deps,
        context,
        id,
        async (_tx, _by, { row: before }) => requireUnmanaged(before),
        async (tx, _checked, { row: before }) => {
          if (before.status !== "disabled") return { row: before, messageId: null };
          const enabled = await enableUser(tx, id, at);
          recordUser(tx, context, before, "user.enable", statusChange(before, enabled.row), at);
          return { row: enabled.row, messageId: announce(tx, id, enabled.version) };
        },
      );
      await appliedEverywhere(db, messageId === null ? [] : [messageId]);
      return row;
    },

    /**
     * Sends a new invitation and withdraws the others. Throws `invitation_accepted`, `user_disabled`,
     * `domain_not_allowed`.
     */
    async invite(
      context: CallContext,
      request: ResendInviteRequest,
      messageOf: (row: UserRow) => User,
    ): Promise<ResendInviteResponse> {
      const at = now();
      const { id } = request;
      const { partnerId } = await visiblePartner(deps, context, id);
      const locate = async (tx: Tx) => {
        const by = await actingNow(tx, context, partnerId, "users:write");
        return { by, ...(await lockedBy(tx, by, id)) };
      };
      const make = async (tx: Tx, { by, row }: Found & { by: Caller }) => {
        if (row.status === "disabled") throw new AppError("user_disabled", "The user is disabled");
        if (row.status !== "invited") {
          throw new AppError("invitation_accepted", "The user has accepted their invitation");
        }
        const tenant = ownerOf(row);
        if (!(await invitedAddress(tx, invitesAs(by, tenant), row.email))) throw addressNotAllowed();
        const withdrawn = await withdrawInvites(tx, id);
        const inviteToken = await addInvite(deps, tx, by, row, at);
        recordUser(tx, context, row, "user.invite", { withdrawn }, at);
        return { user: messageOf(row), inviteToken };
      };
      return serializedByPartner(db, partnerId, () =>
        idempotentTx(db, context, UserService.method.resendInvite, request, locate, make, deps.box),
      );
    },
  };
}

/** Changes a user whom the acting user can see and who holds no more permissions than the acting user. */
async function change<P, T>(
  deps: Deps,
  context: CallContext,
  id: string,
  check: (tx: Tx, by: Caller, found: Found) => Promise<P>,
  apply: (tx: Tx, checked: P, found: Found) => Promise<T>,
): Promise<T> {
  const at: Parameters<Administer>[1] = { ...(await visiblePartner(deps, context, id)), permission: "users:write" };
  return administration(deps.db)(
    context,
    at,
    async (tx, by) => {
      const found = await lockedBy(tx, by, id);
      return { found, checked: await check(tx, by, found) };
    },
    (tx, { found, checked }) => apply(tx, checked, found),
  );
}

/** The partner of a user whom the caller can see. */
async function visiblePartner({ db }: Deps, context: CallContext, id: string): Promise<{ partnerId: string | null }> {
  const seen = isUuid(id) ? await findUser(db, context, id) : null;
  if (!seen) throw userNotFound();
  return { partnerId: seen.partner_id };
}

/** The user, locked, whom the acting user can see and who holds no more permissions than the acting user. */
async function lockedBy(tx: Tx, by: Caller, id: string): Promise<Found> {
  const row = await lockUser(tx, by, id);
  const user = row && (await readPrincipal(tx, id));
  if (!row || !user) throw userNotFound();
  requireAbove(by, { permissions: user.permissions, orgAccess: row.org_access, orgIds: row.org_ids });
  return { row, user };
}

/** The word to the gateways, with the transaction; its id is what is waited for. */
function announce(tx: Tx, id: string, version: number): string {
  const message = userChanged(id, version);
  tx.emit(message);
  return message.msgId;
}

type Found = { row: UserRow; user: PrincipalRow };

/** Throws `managed_by_directory`. */
function requireUnmanaged({ managed_by: directory }: Pick<UserRow, "managed_by">): null {
  if (directory === null) return null;
  throw managedBy(directory);
}

function standingOf(row: UserRow, user: PrincipalRow): Standing {
  return {
    name: row.name,
    // The role as stored: its ownership was checked when it was assigned.
    role: { id: row.role_id, scope: row.scope, permissions: user.permissions, partnerId: null, orgId: null },
    partnerId: row.partner_id,
    orgId: row.org_id,
    orgAccess: row.org_access,
    orgIds: row.org_ids,
    siteIds: row.site_restricted ? row.site_ids : null,
  };
}

type After = { permissions: readonly string[]; orgAccess: string; siteIds: readonly string[] | null };

/** Throws `last_administrator`; `after` is null when the user is no longer let in. A deleted partner needs none. */
async function keepAdministrator(tx: Tx, row: UserRow, user: PrincipalRow, after: After | null): Promise<null> {
  if (row.org_id !== null || user.partner_status === "deleted") return null;
  const { scope, partner_id: partnerId } = row;
  const before = {
    permissions: user.permissions,
    orgAccess: row.org_access,
    siteIds: row.site_restricted ? row.site_ids : null,
  };
  const isIn = row.status === "active";
  const was = administers(scope, isIn ? before : null);
  const will = administers(scope, isIn ? after : null);
  if (!was.any || (will.any && (will.ofAll || !was.ofAll))) return null;
  requireAdministrator(was, will, await otherAdministrators(tx, { scope, partnerId }, { userId: row.id }));
  return null;
}

function administers(scope: UserRow["scope"], user: After | null): Administration {
  const any = user !== null && user.siteIds === null && grantable(scope).every((p) => user.permissions.includes(p));
  return { any, ofAll: any && (scope === "system" || user?.orgAccess === "all") };
}

const statusChange = (before: UserRow, after: UserRow) => ({
  changedFields: ["status"],
  changes: { before: { status: before.status }, after: { status: after.status } },
});

export const userNotFound = () => new AppError("user_not_found", "User not found");
