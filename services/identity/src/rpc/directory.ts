import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { AppError, type CallContext, clampPage, systemCaller, uuidv7, validationError } from "@muster/kit";
import { DirectoryService } from "@muster/proto/muster/identity/v1/directory_pb";
import { callContext } from "@muster/rpc";
import { checkedBefore, idempotentTx } from "@muster/service";
import { serializedByPartner } from "../commands/administer.ts";
import { asDirectory } from "../commands/directory/client.ts";
import { applyOrDefer, rolesApplied } from "../commands/directory/pending-roles.ts";
import { newOwner } from "../commands/sso/owner.ts";
import { requireDefaultRole } from "../commands/sso/prepare-provider.ts";
import type { KeyDeps } from "../deps.ts";
import { recordDirectory, visibleDirectoryFields } from "../emits/directory-facts.ts";
import { changesBetween } from "../emits/key-facts.ts";
import type { DirectoryRow } from "../rules/directory/directory.ts";
import { type DirectoryFields, directoryChange, newDirectoryFields } from "../rules/directory/directory-fields.ts";
import { directoryPresets } from "../rules/directory/presets.ts";
import { newToken } from "../rules/opaque-token.ts";
import { ownerOf } from "../rules/owner.ts";
import type { Owner } from "../rules/sso/provider.ts";
import {
  countDirectories,
  deleteDirectory,
  insertDirectory,
  isProviderTaken,
  listDirectories,
  lockDirectory,
  setDirectoryStatus,
  writeDirectory,
} from "../store/directory/directories.ts";
import { managedUserIds } from "../store/directory/role-mappings.ts";
import { deleteDirectoryTokens, endDirectoryTokens, insertDirectoryToken } from "../store/directory/tokens.ts";
import { findProvider } from "../store/sso/providers.ts";
import { directoryGuards } from "./directory-guards.ts";
import { directoryMessage } from "./directory-message.ts";
import { ownerFilter } from "./list-filters.ts";
import { roleMappingHandlers } from "./role-mapping.ts";
import { providerNotFound } from "./sso-provider.ts";

/** Hours for which the tokens before a rotation may be accepted. */
const maxGraceHours = 168;
const hourMs = 3_600_000;
const statuses = ["active", "paused"];
const prefixLength = 10;

type ManagedDeps = KeyDeps & { directoriesPerTenant: number };

/** Directories that provision users and groups (docs/directory.md). */
export function directoryService(deps: ManagedDeps): ServiceImpl<typeof DirectoryService> {
  const { db, now } = deps;

  const { requireReader, requireWriter, requireOwn, requireChangeable, lock } = directoryGuards(deps);
  const addToken = async (tx: Tx, row: DirectoryRow, at: Date): Promise<string> => {
    const { token, hash: digest } = newToken("scim_");
    await insertDirectoryToken(tx, row, { id: uuidv7(at.getTime()), digest, prefix: token.slice(0, prefixLength) }, at);
    return token;
  };
  /** The caller may grant the role now, and the provider is of the same owner. */
  const requireNamed = async (context: CallContext, owner: Owner, fields: Partial<DirectoryFields>): Promise<void> => {
    if (fields.defaultRoleId) await requireDefaultRole(deps, context, owner, fields.defaultRoleId);
    if (!fields.providerId) return;
    const provider = await findProvider(db, context, fields.providerId);
    const isOwn = provider?.partner_id === owner.partnerId && provider.org_id === owner.orgId;
    if (!isOwn) throw providerNotFound();
  };

  return {
    ...roleMappingHandlers(deps),

    async listDirectoryPresets(_request, handler) {
      requireReader(callContext(handler));
      return { presets: [...directoryPresets] };
    },

    async listDirectories(request, handler) {
      const context = callContext(handler);
      requireReader(context);
      const filter = await ownerFilter(deps, context, request);
      const { rows, info } = await listDirectories(db, context, filter, clampPage(request.page ?? {}));
      return { directories: rows.map(directoryMessage), page: info };
    },

    async getDirectory({ id }, handler) {
      const context = callContext(handler);
      requireReader(context);
      return { directory: directoryMessage(await requireOwn(context, id)) };
    },

    async createDirectory(request, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const at = now();
      if (!request.input) throw validationError({}, ["Required"]);
      const fields = newDirectoryFields(request.input);
      const owner = await newOwner(deps, context, request);
      await requireNamed(context, owner, fields);
      const make = async (tx: Tx) => {
        if ((await countDirectories(tx, owner)) >= deps.directoriesPerTenant) {
          const facts = { limit: deps.directoriesPerTenant };
          throw new AppError("limit_reached", "No more directories can be created here", { facts });
        }
        const createdBy = context.caller.actor.id;
        const defaultRoleBy = fields.defaultRoleId === null ? null : createdBy;
        const wanted = { ...fields, id: uuidv7(at.getTime()), owner, createdBy, defaultRoleBy };
        const row = await insertDirectory(tx, wanted, at);
        const token = await addToken(tx, row, at);
        const changes = { before: {}, after: visibleDirectoryFields(row) };
        recordDirectory(tx, context, row, "directory.create", { changes }, at);
        const stored = (await lockDirectory(tx, context.caller, row.id)) ?? row;
        return { directory: directoryMessage(stored), token };
      };
      const { createDirectory } = DirectoryService.method;
      return idempotentTx(db, context, createDirectory, request, checkedBefore, make, deps.box).catch(providerTaken);
    },

    async updateDirectory({ id, updateMask, input }, handler) {
      const context = callContext(handler);
      requireWriter(context);
      if (!input) throw validationError({}, ["Required"]);
      const fields = directoryChange(updateMask?.paths ?? [], input);
      const seen = await requireChangeable(context, id);
      await requireNamed(context, ownerOf(seen), fields);
      // As the service, behind the guards above: sessions of users may end.
      const who = { ...context, caller: systemCaller("identity"), actsFor: seen.org_id ?? seen.partner_id };
      const changed = serializedByPartner(db, seen.partner_id, () =>
        db.tx(who, async (tx) => {
          const at = now();
          const before = await lock(tx, context, seen);
          const { defaultRoleId, providerId } = fields;
          const savedBy = defaultRoleId === null ? null : context.caller.actor.id;
          const defaultRoleBy = defaultRoleId === undefined ? before.default_role_by : savedBy;
          const row = await writeDirectory(tx, id, { ...fieldsOf(before), ...fields, defaultRoleBy }, at);
          const details = changesBetween(visibleDirectoryFields(before), visibleDirectoryFields(row));
          recordDirectory(tx, context, row, "directory.update", details, at);
          const users = defaultRoleId === undefined && providerId === undefined ? [] : await managedUserIds(tx, id);
          return { row, applied: await applyOrDefer(tx, asDirectory(context, row), row, users, "mapping", at) };
        }),
      );
      const { row, applied } = await changed.catch(providerTaken);
      await rolesApplied(deps, context, row, applied);
      return { directory: directoryMessage(row) };
    },

    async setDirectoryStatus({ id, status }, handler) {
      const context = callContext(handler);
      requireWriter(context);
      if (!statuses.includes(status)) throw validationError({ status: [`One of ${statuses.join(", ")}`] });
      const seen = await requireChangeable(context, id);
      const row = await db.tx(context, async (tx) => {
        const at = now();
        const before = await lock(tx, context, seen);
        if (before.status === status) return before;
        const after = await setDirectoryStatus(tx, id, status, at);
        const changes = { before: { status: before.status }, after: { status } };
        recordDirectory(tx, context, after, "directory.status.update", { status, changes }, at);
        return after;
      });
      return { directory: directoryMessage(row) };
    },

    async rotateDirectoryToken(request, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const { id, graceHours } = request;
      if (graceHours > maxGraceHours) throw validationError({ graceHours: [`0 to ${maxGraceHours}`] });
      const seen = await requireChangeable(context, id);
      const rotate = async (tx: Tx) => {
        const at = now();
        const row = await lock(tx, context, seen);
        if (graceHours === 0) await deleteDirectoryTokens(tx, id);
        else await endDirectoryTokens(tx, id, new Date(at.getTime() + graceHours * hourMs), at);
        const token = await addToken(tx, row, at);
        recordDirectory(tx, context, row, "directory.token.rotate", { graceHours }, at);
        const stored = (await lockDirectory(tx, context.caller, id)) ?? row;
        return { directory: directoryMessage(stored), token };
      };
      const { rotateDirectoryToken } = DirectoryService.method;
      return idempotentTx(db, context, rotateDirectoryToken, request, checkedBefore, rotate, deps.box);
    },

    async revokeDirectoryTokens({ id }, handler) {
      const context = callContext(handler);
      const seen = await requireChangeable(context, id);
      const revoked = await db.tx(context, async (tx) => {
        const row = await lock(tx, context, seen);
        const ended = await deleteDirectoryTokens(tx, id);
        recordDirectory(tx, context, row, "directory.token.revoke", { revoked: ended }, now());
        return ended;
      });
      return { revoked };
    },

    async deleteDirectory({ id }, handler) {
      const context = callContext(handler);
      const seen = await requireChangeable(context, id);
      await db.tx(context, async (tx) => {
        const row = await lock(tx, context, seen);
        await deleteDirectory(tx, id);
        const changes = { before: visibleDirectoryFields(row), after: {} };
        recordDirectory(tx, context, row, "directory.delete", { status: row.status, changes }, now());
      });
      return {};
    },
  };
}

const fieldsOf = (row: DirectoryRow): DirectoryFields => ({
  name: row.name,
  preset: row.preset,
  providerId: row.provider_id,
  defaultRoleId: row.default_role_id,
});

function providerTaken(error: unknown): never {
  if (isProviderTaken(error)) throw new AppError("name_taken", "Another directory has this provider");
  throw error;
}
