import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Database } from "@muster/db";
import { AppError } from "@muster/kit";
import { KeyRecordSchema, type ResolveKeysRequest_Wanted } from "@muster/proto/muster/identity/v1/edge_pb";
import { tooManyFailures } from "../rules/attempt-limit.ts";
import { type EdgeKeyRow, findKeysByDigest, markExpired } from "../store/edge-keys.ts";
import type { UnknownKeys } from "../store/unknown-keys.ts";

type Deps = { db: Database; unknownKeys: UnknownKeys; now: () => Date };

const digestBytes = 32;

/** What is behind each digest, in their order: the key as it is now, or why it is refused. */
export async function resolveKeys(deps: Deps, wanted: readonly ResolveKeysRequest_Wanted[]) {
  const rows = await findKeysByDigest(
    deps.db,
    wanted.map(({ digest }) => (digest.length === digestBytes ? digest : Buffer.alloc(digestBytes))),
  );
  return Promise.all(wanted.map(({ clientAddress }, at) => outcomeOf(deps, rows[at], clientAddress || null)));
}

async function outcomeOf(deps: Deps, row: EdgeKeyRow | undefined, clientAddress: string | null) {
  const refusal = await refusalOf(deps, row, clientAddress);
  if (refusal || !row) {
    const { code, message, retryAfterSeconds = 0 } = refusal ?? unknown();
    return { outcome: { case: "refused" as const, value: { code, message, retryAfterSeconds } } };
  }
  const found = { key: keyRecord(row), ...(row.until ? { until: timestampFromDate(row.until) } : {}) };
  return { outcome: { case: "found" as const, value: found } };
}

async function refusalOf(
  { db, unknownKeys, now }: Deps,
  row: EdgeKeyRow | undefined,
  clientAddress: string | null,
): Promise<AppError | null> {
  if (!row) {
    const until = await unknownKeys.count(clientAddress);
    return until ? tooManyFailures(until, now()) : unknown();
  }
  if (row.status === "revoked") return new AppError("api_key_revoked", "API key is revoked");
  if (row.status !== "expired" && !row.is_over) return null;
  if (row.status === "active") await markExpired(db, row.id);
  return new AppError("api_key_expired", "API key is expired");
}

const unknown = () => new AppError("api_key_invalid", "API key is invalid");

/** A key as gateways hold it. */
function keyRecord(row: EdgeKeyRow) {
  return create(KeyRecordSchema, {
    id: row.id,
    orgId: row.org_id,
    partnerId: row.partner_id,
    name: row.name,
    keyPrefix: row.key_prefix,
    scopes: row.scopes,
    rateLimit: row.rate_limit,
    expiresAt: row.expires_at ? timestampFromDate(row.expires_at) : undefined,
    allowedIps: row.allowed_ips,
    principalId: row.principal_id ?? "",
    version: BigInt(row.version),
    generation: row.generation,
    partnerStatus: row.partner_status,
    orgStatus: row.org_status,
  });
}
