import type { Database, Tx } from "@muster/db";
import { type CallContext, type Logger, systemCaller } from "@muster/kit";
import { appliedEverywhere } from "../../emits/applied-everywhere.ts";
import { asService } from "../../rules/as-service.ts";
import type { MappedDirectory } from "../../rules/directory/directory.ts";
import type { Cause } from "../../rules/directory/role-mapping.ts";
import { lockAdministration } from "../../store/administration.ts";
import { addPendingRoles, mappedDirectory, takePendingRoles } from "../../store/directory/pending-roles.ts";
import { serializedByPartner } from "../administer.ts";
import { applyRoles } from "./apply-roles.ts";
import { asDirectory } from "./client.ts";

/** Users whose roles are changed in the transaction of what caused it; more of them are pending. */
const inlineMax = 500;
/** Users of one transaction afterwards: it holds the lock of the partner's administration for less than a second. */
const batch = 200;
/** A request waits so long for pending roles, and leaves so much of its deadline to its answer. */
const waitMs = 20_000;
const reserveMs = 2_000;

type Deps = { db: Database; now: () => Date; log: Logger };
type Which = { id: string; partner_id: string };

/** Roles that a change gave or took: ids of messages to wait for, and whether more users are pending. */
export type AppliedRoles = { messages: string[]; isPending: boolean };

/** Applies the mapping to users: in this transaction to few, to many in later ones (`rolesApplied`). */
export async function applyOrDefer(
  tx: Tx,
  context: Pick<CallContext, "caller" | "meta">,
  directory: MappedDirectory,
  userIds: readonly string[],
  cause: Cause,
  now: Date,
): Promise<AppliedRoles> {
  if (userIds.length > inlineMax) {
    await addPendingRoles(tx, directory, userIds, cause, now);
    return { messages: [], isPending: true };
  }
  return { messages: await applyRoles(tx, context, directory, userIds, { cause }, now), isPending: false };
}

/**
 * Resolves when roles that a committed change gave or took are so everywhere; of many users within the request's time,
 * after which the job goes on. Never throws: what committed is done.
 */
export async function rolesApplied(
  deps: Deps,
  { deadlineMs }: Pick<CallContext, "deadlineMs">,
  directory: Which,
  { messages, isPending }: AppliedRoles,
): Promise<void> {
  await appliedEverywhere(deps.db, messages);
  if (!isPending) return;
  const latestMs = performance.now() + waitMs;
  const untilMs = deadlineMs === null ? latestMs : Math.min(latestMs, deadlineMs - reserveMs);
  await applyPendingRoles(deps, directory, untilMs).catch((err: unknown) =>
    deps.log.warn({ err, directoryId: directory.id }, "pending roles are left to the job"),
  );
}

/** Applies the pending roles of a directory, a transaction for each batch, until none is left or `untilMs` has come. */
export async function applyPendingRoles(deps: Deps, directory: Which, untilMs: number): Promise<void> {
  while (performance.now() < untilMs) {
    const { taken, messages } = await serializedByPartner(deps.db, directory.partner_id, () =>
      oneBatch(deps, directory),
    );
    await appliedEverywhere(deps.db, messages);
    if (taken < batch) return;
  }
}

function oneBatch({ db, now }: Deps, { id, partner_id: partnerId }: Which) {
  return db.tx({ caller: systemCaller("identity"), actsFor: partnerId }, async (tx) => {
    await lockAdministration(tx, "partner", partnerId);
    const directory = await mappedDirectory(tx, id);
    const pending = directory === null ? [] : await takePendingRoles(tx, id, batch);
    const messages: string[] = [];
    for (const cause of new Set(pending.map((one) => one.cause))) {
      if (directory === null) break;
      const userIds = pending.filter((one) => one.cause === cause).map(({ user_id }) => user_id);
      const who = asDirectory(asService(), directory);
      messages.push(...(await applyRoles(tx, who, directory, userIds, { cause }, now())));
    }
    return { taken: pending.length, messages };
  });
}
