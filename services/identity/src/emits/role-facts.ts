import type { OutboxMessage, Tx } from "@muster/db";
import { type Caller, type RequestMeta, uuidv7, zeroUuid } from "@muster/kit";
import { RoleChangedSchema } from "@muster/proto/muster/events/v1/auth_pb";
import { encode } from "@muster/rpc";
import { auditEvent } from "@muster/service";
import type { RoleRow } from "../store/roles.ts";

/**
 * Notifies every gateway that its cached users with a role are stale: one message for any number of users, including
 * those who sign in during the change.
 */
export function roleChanged(before: RoleRow): OutboxMessage {
  const body = encode(RoleChangedSchema, {
    roleId: before.id,
    role: before.name,
    partnerId: before.partner_id ?? "",
  });
  return {
    subject: "auth.role",
    msgId: `${zeroUuid}/role-${before.id}-${uuidv7()}`,
    body,
  };
}

/** Writes the audit row of something that was done to a role, in the chain of its owner. */
export function recordRole(
  tx: Tx,
  who: { caller: Caller; meta: RequestMeta },
  row: RoleRow,
  action: `role.${"create" | "update" | "delete"}`,
  details: Record<string, unknown>,
  now: Date,
): void {
  const resource = { type: "role", id: row.id, name: row.name };
  tx.emit(
    auditEvent("identity", who, { action, resource, orgId: row.org_id, partnerId: row.partner_id, details }, now),
  );
}

/** The fields of a role that people set. */
export const visibleRoleFields = (row: Pick<RoleRow, "name" | "description"> & { permissions: readonly string[] }) => ({
  name: row.name,
  description: row.description,
  permissions: row.permissions,
});
