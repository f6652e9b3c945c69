import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { AppError, type CallContext, systemCaller, uuidv7, validationError } from "@muster/kit";
import { DirectoryService } from "@muster/proto/muster/identity/v1/directory_pb";
import { callContext } from "@muster/rpc";
import { changesBetween, checkedBefore, idempotentTx } from "@muster/service";
import { serializedByPartner } from "../commands/administer.ts";
import { asDirectory } from "../commands/directory/client.ts";
import { applyOrDefer, rolesApplied } from "../commands/directory/pending-roles.ts";
import { newOwner } from "../commands/sso/owner.ts";
import type { KeyDeps } from "../deps.ts";
import { recordDirectory, visibleDirectoryFields } from "../emits/directory-facts.ts";
import type { DirectoryRow } from "../rules/directory/directory.ts";
import { type DirectoryFields, directoryChange, newDirectoryFields } from "../rules/directory/directory-fields.ts";
import { ownerOf } from "../rules/owner.ts";
import type { Owner } from "../rules/sso/provider.ts";
import {
  countDirectories,
  deleteDirectory,
  insertDirectory,
  lockDirectory,
  setDirectoryStatus,
  writeDirectory,
} from "../store/directory/directories.ts";
import { managedUserIds } from "../store/directory/role-mappings.ts";
import { directoryGuards } from "./directory-guards.ts";
import { directoryMessage } from "./directory-message.ts";
import { providerTaken, requireNamed } from "./directory-provider.ts";
import { addToken } from "./directory-tokens.ts";

export type ManagedDeps = KeyDeps & { directoriesPerTenant: number };

const statuses = ["active", "paused"];

type Handlers = Pick<
  ServiceImpl<typeof DirectoryService>,
  "createDirectory" | "updateDirectory" | "setDirectoryStatus" | "deleteDirectory"
>;

/** Directories are made, changed, paused and deleted by people with `directory:write` and a second factor. */
export function directoryChanges(deps: ManagedDeps): Handlers {
  const { db, now } = deps;
  const { requireWriter, requireChangeable, lock } = directoryGuards(deps);

  return {
    async createDirectory(request, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const at = now();
      if (!request.input) throw validationError({}, ["Required"]);
      const fields = newDirectoryFields(request.input);
      const owner = await newOwner(deps, context, request);
      await requireNamed(deps, context, owner, fields);
      const make = (tx: Tx) => insertOwned(tx, { deps, context, owner, fields, at });
      const { createDirectory } = DirectoryService.method;
      return idempotentTx(db, context, createDirectory, request, checkedBefore, make, deps.box).catch(providerTaken);
    },

    async updateDirectory({ id, updateMask, input }, handler) {
      const context = callContext(handler);
      requireWriter(context);
      if (!input) throw validationError({}, ["Required"]);
      const fields = directoryChange(updateMask?.paths ?? [], input);
      const seen = await requireChangeable(context, id);
      await requireNamed(deps, context, ownerOf(seen), fields);
      // As the service, behind the guards above: sessions of users may end.
      const who = { ...context, caller: systemCaller("identity"), actsFor: seen.org_id ?? seen.partner_id };
      const changed = serializedByPartner(db, seen.partner_id, () =>
        db.tx(who, (tx) => writeFields(tx, context, seen, { lock, fields, at: now() })),
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

interface NewDirectory {
  deps: ManagedDeps;
  context: CallContext;
  owner: Owner;
  fields: DirectoryFields;
  at: Date;
}

/** The directory with its first token. Throws `limit_reached`. */
async function insertOwned(tx: Tx, { deps, context, owner, fields, at }: NewDirectory) {
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
}

interface FieldsChange {
  lock: ReturnType<typeof directoryGuards>["lock"];
  fields: Partial<DirectoryFields>;
  at: Date;
}

/** The changed row, and what another role or provider does to the people whom the directory manages. */
async function writeFields(tx: Tx, context: CallContext, seen: DirectoryRow, { lock, fields, at }: FieldsChange) {
  const before = await lock(tx, context, seen);
  const { defaultRoleId, providerId } = fields;
  const savedBy = defaultRoleId === null ? null : context.caller.actor.id;
  const defaultRoleBy = defaultRoleId === undefined ? before.default_role_by : savedBy;
  const row = await writeDirectory(tx, seen.id, { ...directoryFields(before), ...fields, defaultRoleBy }, at);
  const details = changesBetween(visibleDirectoryFields(before), visibleDirectoryFields(row));
  recordDirectory(tx, context, row, "directory.update", details, at);
  const users = defaultRoleId === undefined && providerId === undefined ? [] : await managedUserIds(tx, seen.id);
  return { row, applied: await applyOrDefer(tx, asDirectory(context, row), row, users, "mapping", at) };
}

const directoryFields = (row: DirectoryRow): DirectoryFields => ({
  name: row.name,
  preset: row.preset,
  providerId: row.provider_id,
  defaultRoleId: row.default_role_id,
});
