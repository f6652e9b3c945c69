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

function checked(client: ClientRow | null): ClientRow {
  if (client === null || client.partner_status === "deleted" || client.org_status === "deleted") throw tokenInvalid();
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
  const seen = await requireClient(db, digest);
  const who = { ...asDirectory(context, seen), actsFor: seen.org_id ?? seen.partner_id };
  return serializedByPartner(db, seen.partner_id, () =>
    db.tx(who, async (tx) => {
      const [, current, early] = await Promise.all([
        lockAdministration(tx, "partner", seen.partner_id),
        readClient(tx, digest),
        read(tx, seen),
      ]);
      const client = checked(current);
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
