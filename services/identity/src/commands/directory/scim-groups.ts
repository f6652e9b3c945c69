import type { Tx } from "@muster/db";
import { type CallContext, hasFields, uuidv7 } from "@muster/kit";
import { auditEvent } from "@muster/service";
import { groupResource, readDocument, requireComplete, type ScimDocument } from "../../rules/scim/document.ts";
import { scimNotFound, scimTaken } from "../../rules/scim/errors.ts";
import { changeGroup, type MemberChange, membersOf, noMember } from "../../rules/scim/group-patch.ts";
import { readOperations } from "../../rules/scim/patch.ts";
import type { ClientRow } from "../../store/directory/clients.ts";
import { isMapped } from "../../store/directory/role-mappings.ts";
import {
  addMembers,
  deleteScimGroup,
  groupTakenBy,
  insertScimGroup,
  keepMembers,
  lockScimGroup,
  removeMembers,
  type ScimGroupRow,
  type ScimGroupValues,
  unknownMember,
  writeScimGroup,
} from "../../store/directory/scim-groups.ts";
import { changeAsDirectory, type DirectoryCall } from "./client.ts";
import { type AppliedRoles, applyOrDefer, rolesApplied } from "./pending-roles.ts";
import type { ScimDeps } from "./scim-users.ts";
import { requireVersion } from "./versions.ts";

/** Creates a group with its members. Throws `scim_invalid`, `scim_uniqueness`. */
export function createScimGroup(
  { db, now }: ScimDeps,
  context: CallContext,
  digest: Uint8Array,
  body: unknown,
): Promise<ScimGroupRow> {
  const document = readGroup(body);
  const members = membersOf(body);
  const values = valuesOf(document);
  const read = (tx: Tx, client: ClientRow) => groupTakenBy(tx, client.id, values, null);
  return changeAsDirectory(db, context, digest, read, async (tx, call, taken) => {
    const at = now();
    requireFree(taken);
    const row = await insertScimGroup(tx, call.client, uuidv7(at.getTime()), values, at);
    const { added } = await changeMembers(tx, call, row.id, [{ kind: "add", ids: members }]);
    // No mapping can name it yet.
    record(tx, call, row, "directory.group.create", { added: added.length }, at);
    return row;
  });
}

/** PUT: only members that differ are written. Throws `scim_resource_not_found`, `scim_version_mismatch`. */
export function replaceScimGroup(
  deps: ScimDeps,
  context: CallContext,
  digest: Uint8Array,
  { id, body, ifMatch }: { id: string; body: unknown; ifMatch: string },
): Promise<ScimGroupRow> {
  const document = readGroup(body);
  const members: MemberChange[] = [{ kind: "set", ids: membersOf(body) }];
  return change(deps, context, digest, { id, ifMatch, change: () => ({ document, members }) });
}

/** PATCH. Throws as replaceScimGroup. */
export function patchScimGroup(
  deps: ScimDeps,
  context: CallContext,
  digest: Uint8Array,
  { id, body, ifMatch }: { id: string; body: unknown; ifMatch: string },
): Promise<ScimGroupRow> {
  const operations = readOperations(body);
  return change(deps, context, digest, { id, ifMatch, change: (before) => changeGroup(before, operations) });
}

type GroupEdit = { id: string; ifMatch: string; change(before: ScimDocument): ReturnType<typeof changeGroup> };

async function change(
  deps: ScimDeps,
  context: CallContext,
  digest: Uint8Array,
  { id, ifMatch, change }: GroupEdit,
): Promise<ScimGroupRow> {
  const read = (tx: Tx, client: ClientRow) => Promise.all([lockScimGroup(tx, client.id, id), isMapped(tx, id)]);
  const { row, client, applied } = await changeAsDirectory(deps.db, context, digest, read, async (tx, call, found) => {
    const { client } = call;
    const at = deps.now();
    const [before, isRole] = found;
    if (!before) throw scimNotFound();
    requireVersion(ifMatch, before.version);
    const { document, members } = change(documentOf(before));
    const values = valuesOf(document);
    const isRenamed = values.displayName !== before.display_name || values.externalId !== before.external_id;
    if (isRenamed) requireFree(await groupTakenBy(tx, client.id, values, id));
    const { added, removed } = await changeMembers(tx, call, id, members);
    if (!isRenamed && added.length + removed.length === 0) return { row: before, client, applied: unchanged };
    const row = await writeScimGroup(tx, id, values, at);
    const details = { added: added.length, removed: removed.length, ...(isRenamed ? renamed(before, values) : {}) };
    record(tx, call, row, "directory.group.update", details, at);
    const affected = isRole ? [...new Set([...added, ...removed])] : [];
    return { row, client, applied: await applyOrDefer(tx, call.context, client, affected, "group", at) };
  });
  // A role that a member has lost is lost everywhere when this resolves.
  await rolesApplied(deps, context, client, applied);
  return row;
}

const unchanged: AppliedRoles = { messages: [], isPending: false };

/** Removes a group; its members lose the roles that they had by it. */
export async function removeScimGroup(
  deps: ScimDeps,
  context: CallContext,
  digest: Uint8Array,
  { id, ifMatch }: { id: string; ifMatch: string },
): Promise<void> {
  const read = (tx: Tx, client: ClientRow) => Promise.all([lockScimGroup(tx, client.id, id), isMapped(tx, id)]);
  const { client, applied } = await changeAsDirectory(deps.db, context, digest, read, async (tx, call, found) => {
    const { client } = call;
    const at = deps.now();
    const [row, isRole] = found;
    if (!row) throw scimNotFound();
    requireVersion(ifMatch, row.version);
    const affected = isRole ? await keepMembers(tx, id, []) : [];
    await deleteScimGroup(tx, id);
    const changes = { before: { displayName: row.display_name, externalId: row.external_id }, after: {} };
    record(tx, call, row, "directory.group.delete", { changes }, at);
    return { client, applied: await applyOrDefer(tx, call.context, client, affected, "group", at) };
  });
  await rolesApplied(deps, context, client, applied);
}

function readGroup(body: unknown): ScimDocument {
  const withoutMembers = hasFields(body) ? memberless(body) : body;
  const document = readDocument(groupResource, withoutMembers);
  requireComplete(groupResource, document);
  return document;
}

/** Members are ids, whatever their number: they are no part of the document. */
const memberless = (body: object): object =>
  Object.fromEntries(Object.entries(body).filter(([name]) => name.toLowerCase() !== "members"));

const valuesOf = ({ displayName, externalId }: ScimDocument): ScimGroupValues => ({
  displayName: String(displayName),
  externalId: typeof externalId === "string" ? externalId : null,
});

export const documentOf = ({ display_name, external_id }: ScimGroupRow): ScimDocument => ({
  displayName: display_name,
  ...(external_id === null ? {} : { externalId: external_id }),
});

function requireFree(field: Awaited<ReturnType<typeof groupTakenBy>>): void {
  if (field !== null) throw scimTaken(`Another group of this directory has this ${field}.`);
}

/** Applies changes of members in their order; touches only rows that change. */
async function changeMembers(
  tx: Tx,
  { client }: DirectoryCall,
  groupId: string,
  changes: readonly MemberChange[],
): Promise<{ added: string[]; removed: string[] }> {
  const [added, removed]: [string[], string[]] = [[], []];
  for (const { kind, ids } of changes) {
    if (kind === "remove") {
      removed.push(...(await removeMembers(tx, groupId, ids)));
      continue;
    }
    const unknown = await unknownMember(tx, client.id, ids);
    if (unknown !== null) throw noMember(unknown);
    if (kind === "set") removed.push(...(await keepMembers(tx, groupId, ids)));
    added.push(...(await addMembers(tx, client, groupId, ids)));
  }
  return { added, removed };
}

const renamed = (before: ScimGroupRow, after: ScimGroupValues) => ({
  changes: {
    before: { displayName: before.display_name, externalId: before.external_id },
    after: { displayName: after.displayName, externalId: after.externalId },
  },
});

function record(
  tx: Tx,
  { client, context }: DirectoryCall,
  row: ScimGroupRow,
  action: `directory.group.${"create" | "update" | "delete"}`,
  details: Record<string, unknown>,
  now: Date,
): void {
  const resource = { type: "directory_group", id: row.id, name: row.display_name };
  const { id: directoryId, org_id: orgId, partner_id: partnerId } = client;
  const via = { directoryId, directory: client.name };
  tx.emit(auditEvent("identity", context, { action, resource, orgId, partnerId, details: { via, ...details } }, now));
}
