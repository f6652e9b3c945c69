import type { Tx } from "@muster/db";
import type { Caller, RequestMeta } from "@muster/kit";
import { auditEvent } from "@muster/service";
import type { DirectoryRow } from "../rules/directory/directory.ts";

type Who = { caller: Caller; meta: RequestMeta };

export type DirectoryAction =
  `directory.${"create" | "update" | "mapping.update" | "status.update" | "delete" | `token.${"rotate" | "revoke"}`}`;

/** Writes the audit row of something that was done to a directory, in the chain of its owner. */
export function recordDirectory(
  tx: Tx,
  who: Who,
  row: Pick<DirectoryRow, "id" | "name" | "org_id" | "partner_id">,
  action: DirectoryAction,
  details: Record<string, unknown>,
  now: Date,
): void {
  const resource = { type: "directory", id: row.id, name: row.name };
  tx.emit(
    auditEvent("identity", who, { action, resource, orgId: row.org_id, partnerId: row.partner_id, details }, now),
  );
}

/** What the audit row shows of a directory. */
export const visibleDirectoryFields = (row: DirectoryRow) => ({
  name: row.name,
  preset: row.preset,
  providerId: row.provider_id,
  defaultRoleId: row.default_role_id,
});
