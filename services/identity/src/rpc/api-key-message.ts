import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type ApiKey, ApiKeySchema } from "@muster/proto/muster/identity/v1/api_key_pb";
import type { ApiKeyRow } from "../store/api-keys.ts";

/** A key as callers see it: never its digest; expired once `expiresAt` has passed. */
export function apiKeyMessage(row: ApiKeyRow, now: Date): ApiKey {
  const expired = row.status === "active" && row.expires_at !== null && row.expires_at <= now;
  return create(ApiKeySchema, {
    id: row.id,
    orgId: row.org_id,
    partnerId: row.partner_id,
    name: row.name,
    keyPrefix: row.key_prefix,
    scopes: row.scopes,
    expiresAt: stamp(row.expires_at),
    rateLimit: row.rate_limit,
    createdBy: row.created_by,
    createdAt: stamp(row.created_at),
    updatedAt: stamp(row.updated_at),
    status: expired ? "expired" : row.status,
    lastUsedAt: stamp(row.last_used_at),
    usageCount: BigInt(row.usage_count),
    principalId: row.principal_id ?? "",
    allowedIps: row.allowed_ips,
  });
}

/** A time as messages carry it, absent for null. */
export const stamp = (time: Date | null) => (time === null ? undefined : timestampFromDate(time));

/** A time in the rules' type, null when absent. */
export const timeOrNull = (time: Timestamp | undefined) => (time === undefined ? null : timestampDate(time));
