import { hash } from "node:crypto";
import { equals } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  AppError,
  type Caller,
  counter,
  gauge,
  isPortalCapability,
  isReadOnly,
  type Logger,
  type PortalAuthor,
  sessionEnded,
} from "@muster/kit";
import { type PortalRecord, PortalRecordSchema } from "@muster/proto/muster/identity/v1/portal_pb";
import type { PortalHolder } from "../route/credential.ts";
import { createFreshCache, type FreshCacheOptions } from "./fresh-cache.ts";
import { hasTenantStatuses } from "./tenant-status.ts";

export type PortalCache = {
  /** The session of a portal token. Throws AppError `session_revoked`, `rate_limited` or `unavailable`. */
  get(token: string, clientAddress: () => string | null): PortalHolder | Promise<PortalHolder>;
  /** Marks the cached sessions that match as stale: each is resolved again before its next use. */
  forget(matches: (session: PortalHolder) => boolean): void;
  dropAll(): void;
};

const shape = /^ptl_[A-Za-z0-9_-]{43}$/;
/** Sessions, and refusals of tokens, cached at most. */
const cachedMax = 10_000;
const lookups = counter("muster_gateway_portal_lookups_total", "Portal token look-ups by the source of the answer.", [
  "result",
]);
const entries = gauge(
  "muster_gateway_portal_cache_entries",
  "Portal sessions, and refusals of tokens, cached by this gateway.",
);

/** Whether a bearer token is a portal session's, by the prefix that nothing else has. */
export const isPortalToken = (token: string): boolean => token.startsWith("ptl_");

/** Portal sessions as identity last described them, for as long as the lease covers that. */
export function createPortalCache(options: {
  resolve(digest: Uint8Array, clientAddress: string | null): Promise<PortalRecord>;
  lease: FreshCacheOptions<PortalHolder>["lease"];
  onDrop(linkId: string): void;
  log: Logger;
  now?: () => number;
}): PortalCache {
  const { resolve, lease, onDrop, log, now = Date.now } = options;
  const cache = createFreshCache<PortalHolder>({
    lease,
    max: cachedMax,
    isRefusal: (error) => error instanceof AppError && error.code === "session_revoked",
    merge: (before, after) => (equals(PortalRecordSchema, before.record, after.record) ? before : after),
    onDrop: ({ id }) => onDrop(id),
    log,
    lookups,
    entries,
    nowMs: () => performance.now(),
  });
  return {
    get(token, clientAddress) {
      if (!shape.test(token)) throw sessionEnded();
      const digest = hash("sha256", token, "base64");
      return cache.get(
        digest,
        async () => holderOf(await resolve(Buffer.from(digest, "base64"), clientAddress())),
        ({ record, endsAtMs }) => endsAtMs > now() && hasTenantStatuses(record),
      );
    },
    forget: (matches) => cache.forget(matches),
    dropAll: () => cache.dropAll(),
  };
}

function holderOf(record: PortalRecord): PortalHolder {
  const { linkId, expiresAt } = record;
  if (!expiresAt) throw new Error("identity answered without the end of a portal session");
  return { kind: "portal", id: linkId, record, caller: callerOf(record), endsAtMs: timestampDate(expiresAt).getTime() };
}

function callerOf({ linkId, orgId, partnerId, name, ...record }: PortalRecord): Caller {
  const capabilities = record.capabilities.filter(isPortalCapability);
  return {
    actor: { type: "portal", id: linkId, email: null, name: `portal: ${name}`, role: null, department: null },
    scope: "organization",
    partnerId,
    orgId,
    orgAccess: { mode: "list", orgIds: [orgId] },
    siteIds: null,
    permissions: isReadOnly(capabilities) ? ["webhooks:read"] : ["webhooks:read", "webhooks:write"],
    mfaAt: null,
    sessionId: null,
    keyId: null,
    portal: { linkId, capabilities, author: authorOf(record) },
  };
}

function authorOf({ author }: Pick<PortalRecord, "author">): PortalAuthor {
  if (author?.type !== "user" && author?.type !== "api_key")
    throw new Error("identity named an unknown kind of author");
  return { type: author.type, id: author.id, name: author.name || null };
}
