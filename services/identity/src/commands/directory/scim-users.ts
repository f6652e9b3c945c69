import type { Database, Tx } from "@muster/db";
import { AppError, type CallContext, type Logger, uuidv7 } from "@muster/kit";
import { changesBetween } from "@muster/service";
import { appliedEverywhere } from "../../emits/applied-everywhere.ts";
import { userEvent } from "../../emits/audit.ts";
import { userChanged } from "../../emits/auth.ts";
import { type ClaimedAddress, checkInvitation, type Tenant } from "../../rules/address-owner.ts";
import { ownerOf } from "../../rules/owner.ts";
import { accountOf, type DirectoryAccount, emailsOf, placeholderEmail } from "../../rules/scim/account.ts";
import { readDocument, requireComplete, type ScimDocument, userResource } from "../../rules/scim/document.ts";
import { scimInvalid, scimNotFound, scimTaken } from "../../rules/scim/errors.ts";
import { applyPatch, readOperations } from "../../rules/scim/patch.ts";
import { emailOf } from "../../rules/sso/claims.ts";
import { lockAddress, ownerOfAddress } from "../../store/addresses.ts";
import {
  type AccountRow,
  findAccount,
  insertDirectoryUser,
  lockAccount,
  writeAccount,
} from "../../store/directory/accounts.ts";
import type { ClientRow } from "../../store/directory/clients.ts";
import { lockStandings } from "../../store/directory/role-mappings.ts";
import {
  insertScimUser,
  readScimUser,
  type ScimUserRow,
  type ScimUserValues,
  takenBy,
  writeScimUser,
} from "../../store/directory/scim-users.ts";
import { deleteUser } from "../../store/users.ts";
import { claimAddress, readAddress } from "../claim-address.ts";
import { applyRoles, endAccess, keepsAdministrator, readRules } from "./apply-roles.ts";
import { asDirectory, changeAsDirectory, type DirectoryCall } from "./client.ts";
import { requireVersion } from "./versions.ts";

export type ScimDeps = { db: Database; now: () => Date; log: Logger };

/** Creates a user, or takes over the tenant's own account of the address. Throws `scim_invalid`, `scim_uniqueness`. */
export async function createScimUser(
  { db, now }: ScimDeps,
  context: CallContext,
  digest: Uint8Array,
  body: unknown,
): Promise<ScimUserRow> {
  const document = readDocument(userResource, body);
  requireComplete(userResource, document);
  const account = accountOf(document);
  const values = valuesOf(document);
  const id = uuidv7(now().getTime());
  const email = account.email ?? placeholderEmail(id);
  const read = async (tx: Tx, client: ClientRow) => {
    const [, taken, found, address, rules] = await Promise.all([
      lockAddress(tx, email),
      takenBy(tx, client.id, values, null),
      findAccount(tx, ownerOf(client), email),
      readClaim(tx, email, document),
      readRules(tx, asDirectory(context, client), client),
    ]);
    return { taken, found, address, rules };
  };
  const create = async (tx: Tx, call: DirectoryCall, seen: Awaited<ReturnType<typeof read>>) => {
    const { taken, found, address, rules } = seen;
    const at = now();
    requireFree(taken);
    if (found?.isManaged) throw scimTaken("Another user has this address.");
    const claimed = await addressFor(tx, call, { id: found?.id ?? id, ...account, email }, address, at);
    if (!found) {
      // A new user is in no group: it is made with the default role.
      const [, row] = await Promise.all([
        insertNew(tx, call, id, { ...account, roleId: rules.defaultRoleId }, claimed, at),
        insertScimUser(tx, call.client, id, values, at),
      ]);
      return { row, messages: [] };
    }
    await takeOver(tx, call, found, account, claimed, at);
    const row = await insertScimUser(tx, call.client, found.id, values, at);
    const options = { cause: "user" as const, rules };
    return { row, messages: await applyRoles(tx, call.context, call.client, [found.id], options, at) };
  };
  const { row, messages } = await changeAsDirectory(db, context, digest, read, create);
  await appliedEverywhere(db, messages);
  return row;
}

/** PUT: what the body lacks is removed. Throws `scim_resource_not_found`, `scim_version_mismatch` and as a creation. */
export function replaceScimUser(
  deps: ScimDeps,
  context: CallContext,
  digest: Uint8Array,
  { id, body, ifMatch }: { id: string; body: unknown; ifMatch: string },
): Promise<ScimUserRow> {
  const document = readDocument(userResource, body);
  requireComplete(userResource, document);
  // A PUT without `active` says nothing about it.
  const put = (before: ScimDocument) =>
    document.active === undefined && before.active !== undefined ? { ...document, active: before.active } : document;
  return changeUser(deps, context, digest, { id, ifMatch, change: put });
}

/** PATCH. Throws as replaceScimUser. */
export function patchScimUser(
  deps: ScimDeps,
  context: CallContext,
  digest: Uint8Array,
  { id, body, ifMatch }: { id: string; body: unknown; ifMatch: string },
): Promise<ScimUserRow> {
  const operations = readOperations(body);
  const change = (before: ScimDocument) => applyPatch(userResource, before, operations);
  return changeUser(deps, context, digest, { id, ifMatch, change });
}

async function changeUser(
  { db, now }: ScimDeps,
  context: CallContext,
  digest: Uint8Array,
  { id, ifMatch, change }: { id: string; ifMatch: string; change(before: ScimDocument): ScimDocument },
): Promise<ScimUserRow> {
  const read = (tx: Tx, client: ClientRow) => readScimUser(tx, client.id, id);
  const { row, messages } = await changeAsDirectory(db, context, digest, read, async (tx, call, before) => {
    const at = now();
    if (!before) throw scimNotFound();
    requireVersion(ifMatch, before.version);
    const document = change(before.document);
    if (JSON.stringify(document) === JSON.stringify(before.document)) return { row: before, messages: [] };
    const values = valuesOf(document);
    requireFree(await takenBy(tx, call.client.id, values, id));
    const messages = await moveAccount(tx, call, id, before.document, document, at);
    const row = await writeScimUser(tx, id, values, at);
    const isEnding = before.active && !row.active;
    const options = { cause: "user" as const, mayRefuse: isEnding };
    const applied = await applyRoles(tx, call.context, call.client, [id], options, at);
    return { row, messages: [...messages, ...applied] };
  }).catch((error: unknown) => auditRefusal({ db, now }, context, digest, id, "user.disable", error));
  // What a deactivation ends has ended when this resolves.
  await appliedEverywhere(db, messages);
  return row;
}

/** Removes the account with everything that is the user's; audit rows stay. Throws `last_administrator`. */
export async function deleteScimUser(
  { db, now }: ScimDeps,
  context: CallContext,
  digest: Uint8Array,
  { id, ifMatch }: { id: string; ifMatch: string },
): Promise<void> {
  const read = (tx: Tx, client: ClientRow) => readScimUser(tx, client.id, id);
  const messages = await changeAsDirectory(db, context, digest, read, async (tx, call, row) => {
    const at = now();
    if (!row) throw scimNotFound();
    requireVersion(ifMatch, row.version);
    const [standing] = await lockStandings(tx, call.client, [id]);
    if (!standing) throw scimNotFound();
    if (!(await keepsAdministrator(tx, standing, null))) {
      throw new AppError("last_administrator", "The last administrator cannot be removed");
    }
    const ended = await endAccess(tx, call.context, id, at);
    await deleteUser(tx, id);
    const { email, name, role_id: roleId, status } = standing;
    const changes = { before: { email, name, roleId, status }, after: {} };
    tx.emit(userEvent(call.context, standing, { action: "user.delete", details: { via: viaOf(call), changes } }, at));
    const message = userChanged(id, standing.version + 1);
    tx.emit(message);
    return [...ended, message.msgId];
  }).catch((error: unknown) => auditRefusal({ db, now }, context, digest, id, "user.delete", error));
  await appliedEverywhere(db, messages);
}

const valuesOf = (document: ScimDocument): ScimUserValues => ({
  user_name_key: String(document.userName).toLowerCase(),
  external_id: typeof document.externalId === "string" ? document.externalId : null,
  emails: emailsOf(document),
  active: document.active !== false,
  document,
});

const viaOf = ({ client }: DirectoryCall) => ({ directoryId: client.id, directory: client.name });

function requireFree(field: Awaited<ReturnType<typeof takenBy>>): void {
  if (field !== null) throw scimTaken(`Another user of this directory has this ${field}.`);
}

type NewAddress = Pick<DirectoryAccount, "name"> & { id: string; email: string };

/** Facts of an account's address, and the owner of its user name where that is another address. */
async function readClaim(tx: Tx, email: string, { userName }: ScimDocument) {
  const name = emailOf(userName);
  const isOther = name !== null && name.toLowerCase() !== email.toLowerCase();
  const [facts, named] = await Promise.all([readAddress(tx, email), isOther ? ownerOfAddress(tx, name) : null]);
  return { ...facts, named: isOther ? { email: name, owner: named } : null };
}

/**
 * The address for an account: proven in the tenant's own verified domains, unproven elsewhere, where it neither makes
 * nor matches another tenant's account. Throws `scim_invalid` in another tenant's verified domain, for a user name that
 * is an address, too.
 */
async function addressFor(
  tx: Tx,
  { context, client }: DirectoryCall,
  { id, name, email }: NewAddress,
  { named, ...facts }: Awaited<ReturnType<typeof readClaim>>,
  now: Date,
): Promise<ClaimedAddress> {
  const by: Tenant = ownerOf(client);
  const unproven = checkInvitation({ email, by, owner: facts.owner });
  if (!unproven || (named && !checkInvitation({ ...named, by }))) {
    throw scimInvalid("invalidValue", "This e-mail address cannot be used here.");
  }
  const account = { userId: id, name, tenant: by };
  return (await claimAddress(tx, context, account, { email, by, evidence: "none" }, now, facts)) ?? unproven;
}

async function insertNew(
  tx: Tx,
  call: DirectoryCall,
  id: string,
  { name, department, active, roleId }: DirectoryAccount & { roleId: string | null },
  address: ClaimedAddress,
  now: Date,
): Promise<void> {
  const { client, context } = call;
  const tenant = ownerOf(client);
  const role = await insertDirectoryUser(tx, id, address, { name, department, active, tenant, roleId }, now);
  const after = { email: address.email, name, ...role };
  const details = { via: viaOf(call), emailProof: address.proof, changes: { before: {}, after } };
  const user = { user_id: id, name, org_id: client.org_id, partner_id: client.partner_id };
  tx.emit(userEvent(context, user, { action: "user.create", details }, now));
}

/** The tenant's own account of the address is managed by the directory from now on. */
async function takeOver(
  tx: Tx,
  call: DirectoryCall,
  found: AccountRow,
  account: DirectoryAccount,
  address: ClaimedAddress,
  now: Date,
): Promise<void> {
  const { name, department } = account;
  const proof = found.email_proof ?? address.proof;
  await writeAccount(tx, found.id, { email: found.email, proof, name, department }, now);
  const before = { name: found.name, directoryId: null };
  const details = { via: viaOf(call), ...changesBetween(before, { name, directoryId: call.client.id }) };
  const user = { user_id: found.id, name, org_id: found.org_id, partner_id: found.partner_id };
  tx.emit(userEvent(call.context, user, { action: "user.update", details }, now));
}

/** Brings the account to what the document says of name, department and address. */
async function moveAccount(
  tx: Tx,
  call: DirectoryCall,
  id: string,
  before: ScimDocument,
  after: ScimDocument,
  now: Date,
): Promise<string[]> {
  const [was, is] = [accountOf(before), accountOf(after)];
  const isMoved = was.email !== is.email || before.userName !== after.userName;
  const email = is.email ?? placeholderEmail(id);
  // Before the row of the user: claims of addresses take the locks in this order.
  if (isMoved) await lockAddress(tx, email);
  const current = await lockAccount(tx, id);
  if (!current) throw scimNotFound();
  const hasMoved = was.email !== is.email && current.email.toLowerCase() !== email.toLowerCase();
  if (hasMoved) {
    const other = await findAccount(tx, ownerOf(call.client), email);
    if (other && other.id !== id) throw scimTaken("Another user has this address.");
  }
  const claimed = isMoved
    ? await addressFor(tx, call, { id, name: is.name, email }, await readClaim(tx, email, after), now)
    : null;
  const next = {
    email: hasMoved ? email : current.email,
    proof: hasMoved ? (claimed?.proof ?? null) : current.email_proof,
    name: is.name,
    department: is.department,
  };
  const fields = ({ name, department }: AccountRow | typeof next) => ({ name, department });
  const changes = changesBetween({ email: current.email, ...fields(current) }, { email: next.email, ...fields(next) });
  if (changes.changedFields.length === 0) return [];
  const version = await writeAccount(tx, id, next, now);
  const user = { user_id: id, name: next.name, org_id: current.org_id, partner_id: current.partner_id };
  tx.emit(userEvent(call.context, user, { action: "user.update", details: { via: viaOf(call), ...changes } }, now));
  const message = userChanged(id, version);
  tx.emit(message);
  return [message.msgId];
}

/** Leaves a row of what was refused to protect the tenant's last administrator, then throws on. */
async function auditRefusal(
  { db, now }: Pick<ScimDeps, "db" | "now">,
  context: CallContext,
  digest: Uint8Array,
  id: string,
  action: "user.disable" | "user.delete",
  error: unknown,
): Promise<never> {
  if (error instanceof AppError && error.code === "last_administrator") {
    const read = (tx: Tx) => lockAccount(tx, id);
    await changeAsDirectory(db, context, digest, read, async (tx, call, user) => {
      if (!user) return;
      const failed = { result: "denied" as const, message: error.message };
      const fact = { action, details: { via: viaOf(call) }, failed };
      tx.emit(userEvent(call.context, { ...user, user_id: id }, fact, now()));
    });
  }
  throw error;
}
