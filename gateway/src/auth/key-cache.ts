import { equals } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  AppError,
  type Caller,
  counter,
  gauge,
  includesScope,
  keyScopes,
  type Logger,
  permissionsOfScope,
} from "@muster/kit";
import { type FoundKey, type KeyRecord, KeyRecordSchema } from "@muster/proto/muster/identity/v1/edge_pb";
import { cidrList } from "../request/client-address.ts";
import type { KeyHolder } from "../route/credential.ts";
import { createFreshCache } from "./fresh-cache.ts";
import type { Lease } from "./lease.ts";
import { hasTenantStatuses } from "./tenant-status.ts";

export type KeyCache = {
  /**
   * The key with this SHA-256 digest (base64). Throws AppError `api_key_invalid`, `_revoked`, `_expired`,
   * `rate_limited` when too many unknown ones came from the client's address, or `unavailable`.
   */
  get(digest: string, clientAddress?: () => string | null): KeyHolder | Promise<KeyHolder>;
  /**
   * Invalidates a key after an announced change: entries older than the version, and these digests, are resolved again.
   */
  changed(change: { keyId: string; version: bigint; digests: readonly string[] }): void;
  /** Marks the cached keys that match as stale. */
  forget(matches: (key: KeyHolder) => boolean): void;
  dropAll(): void;
  readonly size: number;
};

export type KeyCacheOptions = {
  resolve(digest: Uint8Array, clientAddress: string | null): Promise<FoundKey>;
  lease: Pick<Lease, "covers" | "awake">;
  max: number;
  log: Logger;
  /** Called with each key that left the cache because it may have changed. */
  onDrop?: (keyId: string) => void;
  nowMs?: () => number;
  /** Milliseconds since 1970. */
  now?: () => number;
};

const refusals: readonly string[] = ["api_key_invalid", "api_key_revoked", "api_key_expired"];
const lookups = counter("muster_gateway_key_lookups_total", "API key look-ups by the source of the answer.", [
  "result",
]);
const entries = gauge("muster_gateway_key_cache_entries", "API keys, and refusals of keys, cached by this gateway.");

/** Keys in steady use are refreshed together, and from then on become due together. */
const gatherMs = 500;
const noAddress = () => null;

/** API keys as identity last described them, for as long as the lease covers that and they have not expired. */
export function createKeyCache(options: KeyCacheOptions): KeyCache {
  const { resolve, lease, max, log, onDrop = () => {}, nowMs = () => performance.now(), now = Date.now } = options;
  const cache = createFreshCache<KeyHolder>({
    lease,
    max,
    isRefusal: (error) => error instanceof AppError && refusals.includes(error.code),
    merge: (before, after) =>
      before.endsAtMs === after.endsAtMs && equals(KeyRecordSchema, before.record, after.record) ? before : after,
    onDrop: (key) => onDrop(key.id),
    log,
    lookups,
    entries,
    nowMs,
    gatherMs,
  });
  const lookUp = async (digest: string, clientAddress: string | null) =>
    keyHolderOf(await resolve(Buffer.from(digest, "base64"), clientAddress));

  return {
    get: (digest, clientAddress = noAddress) =>
      cache.get(
        digest,
        () => lookUp(digest, clientAddress()),
        // Identity returns the reason and records the attempt.
        ({ endsAtMs, record }) => endsAtMs > now() && hasTenantStatuses(record),
      ),
    changed({ keyId, version, digests }) {
      for (const digest of digests) cache.drop(digest);
      cache.forget(({ id, record }) => id === keyId && record.version < version);
    },
    forget: (matches) => cache.forget(matches),
    dropAll: () => cache.dropAll(),
    get size() {
      return cache.size;
    },
  };
}

/** The key as handlers and services see it. */
export function keyHolderOf({ key, until }: FoundKey): KeyHolder {
  if (!key) throw new Error("identity answered without a key");
  const ends = [key.expiresAt, until].flatMap((time) => (time ? [timestampDate(time).getTime()] : []));
  return {
    kind: "key",
    id: key.id,
    record: key,
    caller: callerOf(key),
    endsAtMs: Math.min(...ends, Number.POSITIVE_INFINITY),
    admits: key.allowedIps.length > 0 ? cidrList(key.allowedIps) : null,
  };
}

/** An API key acts inside its organization, with the permissions of its scopes. */
function callerOf(key: KeyRecord): Caller {
  return {
    actor: { type: "api_key", id: key.id, email: null, name: key.name || null, role: null, department: null },
    scope: "organization",
    partnerId: key.partnerId,
    orgId: key.orgId,
    orgAccess: { mode: "list", orgIds: [key.orgId] },
    siteIds: null,
    permissions: permissionsOf(key.scopes),
    mfaAt: null,
    sessionId: null,
    keyId: key.id,
  };
}

/**
 * The permissions that the services' own guards require. The route's scope is checked first: `sites:read` opens no
 * organization.
 */
function permissionsOf(scopes: readonly string[]): string[] {
  const held = keyScopes.filter((scope) => includesScope(scopes, scope));
  return [...new Set(held.flatMap(permissionsOfScope))];
}
