import type { Tx } from "@muster/db";
import type { Caller, RequestMeta } from "@muster/kit";
import { changesBetween } from "@muster/service";
import type { UserRow } from "../store/users.ts";
import { userEvent } from "./audit.ts";

type Who = { caller: Caller; meta: RequestMeta };

export type UserAction =
  | "user.create"
  | "user.update"
  | "user.permission.change"
  | `user.${"disable" | "enable" | "invite" | "delete" | "sessions.end" | "factors.reset"}`;

/** Writes the audit row of something that was done to a user. */
export function recordUser(
  tx: Tx,
  who: Who,
  row: UserRow,
  action: UserAction,
  details: Record<string, unknown>,
  now: Date,
): void {
  tx.emit(userEvent(who, { ...row, user_id: row.id }, { action, details }, now));
}

/** What the audit row shows of a user. */
export const visibleUserFields = (row: UserRow) => ({
  email: row.email,
  name: row.name,
  scope: row.scope,
  partnerId: row.partner_id,
  orgId: row.org_id,
  ...grantsOf(row),
});

/** The assignments that give a user their permissions. */
const grantsOf = (row: UserRow) => ({
  roleId: row.role_id,
  role: row.role,
  orgAccess: row.org_access,
  orgIds: row.org_ids,
  siteIds: row.site_restricted ? row.site_ids : null,
});

/** The rows of a change: what a user is called, and what they may. */
export function recordUserChange(tx: Tx, who: Who, before: UserRow, after: UserRow, now: Date): void {
  const renamed = changesBetween({ name: before.name }, { name: after.name });
  const granted = changesBetween(grantsOf(before), grantsOf(after));
  if (granted.changedFields.length > 0) recordUser(tx, who, after, "user.permission.change", granted, now);
  // A change of an existing record also writes its audit row.
  if (renamed.changedFields.length > 0 || granted.changedFields.length === 0) {
    const details =
      renamed.changedFields.length > 0
        ? renamed
        : { changedFields: [], changes: { before: { name: before.name }, after: { name: after.name } } };
    recordUser(tx, who, after, "user.update", details, now);
  }
}
