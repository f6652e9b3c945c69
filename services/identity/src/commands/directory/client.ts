import type { Database, Tx } from "@muster/db";
import { AppError, type CallContext, type Caller, systemCaller } from "@muster/kit";
import { lockAdministration } from "../../store/administration.ts";
import { type ClientRow, findClient, readClient } from "../../store/directory/clients.ts";
import { serializedByPartner } from "../administer.ts";

/** The directory that calls, and how its changes are audited. */
export type DirectoryCall = { context: CallContext; client: ClientRow };

const closed: readonly string[] = ["suspended", "churned"];

/**
 * The directory of a token. Throws `directory_token_invalid`, `directory_paused`, `partner_inactive` and
 * `organization_inactive`.
 */
export async function requireClient(db: Database, digest: Uint8Array): Promise<ClientRow> {
  return checked(await findClient(db, digest));
}

/** Throws as requireClient. */
export function checked(client: ClientRow | null): ClientRow {
  if (client === null || client.is_ended || client.partner_status === "deleted" || client.org_status === "deleted")
    throw tokenInvalid();
  if (client.partner_status === "unknown" || client.org_status === "unknown") {
    throw new AppError("unavailable", "Service is temporarily unavailable", { retryAfterSeconds: 1 });
  }
  if (client.partner_status !== "active") {
    throw new AppError("partner_inactive", "Partner is not active", { facts: { status: client.partner_status } });
  }
  if (client.org_status !== null && closed.includes(client.org_status)) {
    const facts = { status: client.org_status };
    throw new AppError("organization_inactive", "Organization is not active", { facts });
  }
  if (client.status === "paused") {
    throw new AppError("directory_paused", "The directory is paused", { retryAfterSeconds: 300 });
  }
  return client;
}

/**
 * What `read` finds for the directory of a token; the token is checked meanwhile, and what was read with one that is
 * refused is dropped. Throws as requireClient.
 */
export async function readAsDirectory<T>(
  db: Database,
  digest: Uint8Array,
  read: (client: ClientRow) => Promise<T>,
): Promise<T> {
  const seen = seenClients(db).get(keyOf(digest));
  const current = requireSeen(db, digest);
  if (seen === undefined) return read(await current);
  const [, found] = await Promise.allSettled([current, read(seen)]);
  await current;
  if (found.status === "rejected") throw found.reason;
  return found.value;
}

/** Clients as last read by the digest of their token: id and tenant of one never change. */
const seenMax = 1_000;
const seenBy = new WeakMap<Database, Map<string, ClientRow>>();
const keyOf = (digest: Uint8Array) => Buffer.from(digest).toString("base64");

function seenClients(db: Database): Map<string, ClientRow> {
  const clients = seenBy.get(db) ?? new Map<string, ClientRow>();
  seenBy.set(db, clients);
  return clients;
}

async function requireSeen(db: Database, digest: Uint8Array): Promise<ClientRow> {
  return note(db, digest, await findClient(db, digest));
}

/** Remembers a client that is accepted. Throws as requireClient, and forgets one that is not. */
function note(db: Database, digest: Uint8Array, found: ClientRow | null): ClientRow {
  const [clients, key] = [seenClients(db), keyOf(digest)];
  clients.delete(key);
  const client = checked(found);
  clients.set(key, client);
  const [oldest] = clients.keys();
  if (clients.size > seenMax && oldest !== undefined) clients.delete(oldest);
  return client;
}

/**
 * A change by a directory, in one transaction of the service under the lock of its partner's administration: users and
 * roles change one at a time, and a token that was revoked meanwhile changes nothing. `read` issues statements that
 * only read or lock: they run under the lock, in the round trip that takes it. Throws as requireClient.
 */
export async function changeAsDirectory<R, T>(
  db: Database,
  context: CallContext,
  digest: Uint8Array,
  read: (tx: Tx, client: ClientRow) => Promise<R>,
  work: (tx: Tx, call: DirectoryCall, found: R) => Promise<T>,
): Promise<T> {
  const seen = seenClients(db).get(keyOf(digest)) ?? (await requireSeen(db, digest));
  const who = { ...asDirectory(context, seen), actsFor: seen.org_id ?? seen.partner_id };
  return serializedByPartner(db, seen.partner_id, () =>
    db.tx(who, async (tx) => {
      const [, current, early] = await Promise.all([
        lockAdministration(tx, "partner", seen.partner_id),
        readClient(tx, digest),
        read(tx, seen),
      ]);
      const client = note(db, digest, current);
      const found = isUnchanged(seen, client) ? early : await read(tx, client);
      return work(tx, { context: asDirectory(context, client), client }, found);
    }),
  );
}

/** In what `read` may have used. */
const isUnchanged = (a: ClientRow, b: ClientRow): boolean =>
  a.default_role_id === b.default_role_id && a.default_role_by === b.default_role_by && a.provider_id === b.provider_id;

/** The service in the name of a directory: audit rows show which. */
export function asDirectory<C extends Pick<CallContext, "caller" | "meta">>(
  context: C,
  { name }: Pick<ClientRow, "name">,
): C {
  const system = systemCaller("identity");
  const caller: Caller = { ...system, actor: { ...system.actor, name: `directory: ${name}` } };
  return { ...context, caller };
}

export const tokenInvalid = () => new AppError("directory_token_invalid", "The directory's token is not valid");
