import type { Database } from "@muster/db";
import { AppError, type NoteSigner, ownMeta, signNote, systemCaller, uuidv7 } from "@muster/kit";
import { auditEvent } from "@muster/service";
import type { Outside } from "../clients/checkpoint-copies.ts";
import { type Restore, restoreText } from "../rules/restore.ts";

type Deps = {
  db: Database;
  outside: Pick<Outside, "keepRestore">;
  signer: NoteSigner;
  deployment: string;
  now: () => Date;
};

const who = { caller: systemCaller("audit") };

/**
 * Signs that the database was restored to `restoredTo`, stores that with the checkpoints outside of the database, and
 * writes the audit row `audit.restore.declared` on the platform's chain. Throws AppError `validation_failed` for a time
 * that has not passed.
 */
export async function declareRestore(deps: Deps, restoredTo: Date): Promise<Restore> {
  const declaredAt = deps.now();
  if (!(restoredTo.getTime() < declaredAt.getTime())) {
    throw new AppError("validation_failed", "The restored time must be in the past");
  }
  const restore = { restoredTo, declaredAt };
  await deps.outside.keepRestore(signNote(restoreText(deps.deployment, restore), deps.signer), declaredAt);
  const meta = ownMeta("");
  const fact = {
    action: "audit.restore.declared",
    resource: { type: "audit_restore", id: uuidv7(declaredAt.getTime()), name: restoredTo.toISOString() },
    orgId: null,
    partnerId: null,
    details: { restoredTo: restoredTo.toISOString() },
  };
  await deps.db.tx(who, async (tx) => tx.emit(auditEvent("audit", { ...who, meta }, fact, declaredAt)));
  return restore;
}
