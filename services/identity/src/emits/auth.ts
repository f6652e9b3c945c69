import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { OutboxMessage } from "@muster/db";
import { uuidv7, zeroUuid } from "@muster/kit";
import {
  SessionRevokedSchema,
  TenantStatusChangedSchema,
  UserChangedSchema,
} from "@muster/proto/muster/events/v1/auth_pb";
import { encode } from "@muster/rpc";
import type { TenantChange } from "@muster/service";

/** Notifies every gateway that a session family must not be admitted any more. */
export function sessionRevoked(sessionId: string, userId: string, revokedAt: Date): OutboxMessage {
  const body = encode(SessionRevokedSchema, { sessionId, userId, revokedAt: timestampFromDate(revokedAt) });
  return {
    subject: "auth.session",
    msgId: `${zeroUuid}/session-${sessionId}`,
    body,
  };
}

/** Notifies every gateway that what it remembers of a user is stale. */
export function userChanged(userId: string, userVersion: number): OutboxMessage {
  const body = encode(UserChangedSchema, { userId, userVersion });
  // A step-up changes a session but not its version: a separate id keeps the next one from being deduplicated.
  return {
    subject: "auth.user",
    msgId: `${zeroUuid}/user-${userId}-${uuidv7()}`,
    body,
  };
}

/** Notifies every gateway of the status of a partner or an organization; null for sites, which have none. */
export function tenantStatusChanged(change: TenantChange): OutboxMessage | null {
  const { kind, id, version, status, deleted } = change;
  if (kind === "site") return null;
  const body = encode(TenantStatusChangedSchema, { kind, id, version: BigInt(version), status, deleted });
  return {
    subject: "auth.tenant",
    msgId: `${zeroUuid}/${kind}-${id}-${version}-${status}-${deleted}`,
    body,
  };
}
