import type { Database, Tx } from "@muster/db";
import { AppError, type CallContext, type Caller, type Permission } from "@muster/kit";
import { principalCaller } from "../rules/principal.ts";
import { lockAdministration } from "../store/administration.ts";
import { readPrincipal } from "../store/principals.ts";
import { serializedById } from "./serialized.ts";

/**
 * One change at a time of the users and roles of a partner (null: the platform's own). `check` reads and throws what
 * it refuses, `apply` writes; both in one transaction, under the lock, for the acting user as they are now.
 */
export type Administer = <P, T>(
  context: CallContext,
  at: { partnerId: string | null; permission: Permission },
  check: (tx: Tx, by: Caller) => Promise<P>,
  apply: (tx: Tx, checked: P) => Promise<T>,
) => Promise<T>;

const queues = new WeakMap<Database, ReturnType<typeof serializedById>>();

/** Waits in the process for a partner's changes in flight, so that waiting holds no connection. */
export function serializedByPartner<T>(db: Database, partnerId: string | null, work: () => Promise<T>): Promise<T> {
  const serialized = queues.get(db) ?? serializedById();
  queues.set(db, serialized);
  return serialized(partnerId ?? "platform", work);
}

/**
 * Changes of users and roles, each checked under the lock of its partner
 * (docs/decisions/0012-people-and-roles-change-one-at-a-time-per-partner.md).
 */
export function administration(db: Database): Administer {
  return (context, { partnerId, permission }, check, apply) =>
    serializedByPartner(db, partnerId, async () => {
      const outcome = await db.tx(context, async (tx) => {
        let checked: Awaited<ReturnType<typeof check>>;
        try {
          checked = await check(tx, await actingNow(tx, context, partnerId, permission));
        } catch (refusal) {
          // Returned, not thrown: nothing was written, and the connection stays whole.
          if (refusal instanceof AppError) return { refusal };
          throw refusal;
        }
        return { value: await apply(tx, checked) };
      });
      if ("refusal" in outcome) throw outcome.refusal;
      return outcome.value;
    });
}

/**
 * Takes the lock, then reads the acting user: the permissions in a caller token may be a minute old. Throws
 * `permission_denied` when the user is not active or no longer holds the permission, and `site_restricted`.
 */
export async function actingNow(
  tx: Tx,
  context: CallContext,
  partnerId: string | null,
  permission: Permission,
): Promise<Caller> {
  const { caller } = context;
  await lockAdministration(tx, caller.scope, partnerId);
  const user = await readPrincipal(tx, caller.actor.id);
  if (user?.status !== "active" || !user.permissions.includes(permission)) {
    throw new AppError("permission_denied", "Permission denied", { facts: { required: permission } });
  }
  if (user.site_restricted) throw new AppError("site_restricted", "Your access is restricted to sites");
  return principalCaller(user, { id: caller.sessionId, mfaAt: caller.mfaAt });
}
