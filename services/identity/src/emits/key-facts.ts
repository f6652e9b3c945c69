import type { Tx } from "@muster/db";
import type { Caller, RequestMeta } from "@muster/kit";
import { auditEvent } from "@muster/service";
import type { ApiKeyRow } from "../store/api-keys.ts";
import { announce } from "./changes.ts";

type Who = { caller: Caller; meta: RequestMeta };
type Owned = { id: string; name: string; org_id: string; partner_id: string };

export type KeyFact = {
  action:
    | `api_key.${"create" | "update" | "rotate" | "revoke"}`
    | `enrollment_key.${"create" | "rotate" | "delete"}`
    | `service_principal.${"create" | "rotate_key" | "disable" | "migrate_key"}`;
  details: Record<string, unknown>;
};

/** Writes the audit row of something that happened to a key or a principal, in its organization's chain. */
export function recordFact(tx: Tx, who: Who, owned: Owned, { action, details }: KeyFact, now: Date): void {
  const [type = ""] = action.split(".");
  const resource = { type, id: owned.id, name: owned.name };
  tx.emit(
    auditEvent("identity", who, { action, resource, orgId: owned.org_id, partnerId: owned.partner_id, details }, now),
  );
}

/** Notifies the gateways that a key is not what it was; the id of the change. */
export function announceKey(tx: Tx, before: ApiKeyRow, after: ApiKeyRow): string {
  const digests = [before.digest, before.previous_digest, after.digest].filter((digest) => digest !== null);
  return announce(tx, {
    kind: "key",
    keyId: after.id,
    digests: digests.filter((digest, i) => !digests.slice(0, i).some((other) => other.equals(digest))),
    version: after.version,
    revoked: after.status === "revoked",
  });
}

/** The fields of a key that people set. */
export const visibleKeyFields = (row: ApiKeyRow) => ({
  name: row.name,
  scopes: row.scopes,
  rateLimit: row.rate_limit,
  expiresAt: row.expires_at?.toISOString() ?? null,
  allowedIps: row.allowed_ips,
});
