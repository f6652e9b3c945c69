import type { Tx } from "@muster/db";
import { AppError, type CallContext, isUuid } from "@muster/kit";
import { requireMfa, requirePermission, requireUser, requireWholeOrganization } from "@muster/service";
import { requireOwner } from "../commands/sso/owner.ts";
import type { KeyDeps } from "../deps.ts";
import type { DirectoryRow } from "../rules/directory/directory.ts";
import { lockAdministration } from "../store/administration.ts";
import { findDirectory, lockDirectory } from "../store/directory/directories.ts";

/** Who may read and change directories, and one of them under its lock. */
export function directoryGuards(deps: Pick<KeyDeps, "db" | "now" | "mfaMaxAgeMinutes">) {
  const { db, now } = deps;

  const requireReader = (context: CallContext): void => {
    requireUser(context);
    requirePermission(context, "directory:read");
  };
  const requireWriter = (context: CallContext): void => {
    requireUser(context);
    requirePermission(context, "directory:write");
    requireMfa(context, deps.mfaMaxAgeMinutes, now());
    requireWholeOrganization(context);
  };
  const requireOwn = async (context: CallContext, id: string): Promise<DirectoryRow> => {
    const row = isUuid(id) ? await findDirectory(db, context, id) : null;
    if (!row) throw directoryNotFound();
    return row;
  };
  return {
    requireReader,
    requireWriter,
    /** Throws `directory_not_found`. */
    requireOwn,
    async requireReadable(context: CallContext, id: string): Promise<DirectoryRow> {
      requireReader(context);
      return requireOwn(context, id);
    },
    async requireChangeable(context: CallContext, id: string): Promise<DirectoryRow> {
      requireWriter(context);
      const row = await requireOwn(context, id);
      requireOwner(context, row);
      return row;
    },
    /** Locked behind changes of the owner's users in flight: what a token has started is done when it ends. */
    async lock(tx: Tx, context: CallContext, seen: DirectoryRow): Promise<DirectoryRow> {
      await lockAdministration(tx, context.caller.scope, seen.partner_id);
      const row = await lockDirectory(tx, context.caller, seen.id);
      if (!row) throw directoryNotFound();
      return row;
    },
  };
}

const directoryNotFound = () => new AppError("directory_not_found", "Directory not found");
