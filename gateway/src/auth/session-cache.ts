import { equals } from "@bufbuild/protobuf";
import { AppError, counter, gauge, type Logger, sessionEnded } from "@muster/kit";
import { type Principal, PrincipalSchema } from "@muster/proto/muster/identity/v1/session_pb";
import type { Session } from "../route/credential.ts";
import type { AccessToken } from "./access-token.ts";
import { createFreshCache } from "./fresh-cache.ts";
import type { Lease } from "./lease.ts";
import { lru } from "./lru.ts";
import { sessionOf } from "./principal.ts";
import { hasTenantStatuses } from "./tenant-status.ts";

/** Longest life of an access token, and a margin: after that a revoked session's token is refused as expired. */
export const revokedForMs = 65 * 60_000;

export type SessionCache = {
  /**
   * The user of a verified token. Throws AppError `session_revoked`, or `unavailable` when identity does not
   * answer.
   */
  get(token: AccessToken): Session | Promise<Session>;
  /** Refuses this session here from now on, whatever an answer in flight says. */
  revoked(sessionId: string): void;
  /** Marks the cached sessions that match as stale: each is resolved again before its next use. */
  forget(matches: (session: Session) => boolean): void;
  /** Changes may have been missed: nothing cached is used any more. */
  dropAll(): void;
  readonly size: number;
};

export type SessionCacheOptions = {
  resolve(sessionId: string, userId: string): Promise<Principal>;
  lease: Pick<Lease, "covers" | "awake">;
  max: number;
  log: Logger;
  /** Called with each session that left the cache because it may have changed. */
  onDrop?: (sessionId: string) => void;
  /** Milliseconds of a monotonic clock. */
  nowMs?: () => number;
};

const lookups = counter("muster_gateway_session_lookups_total", "Session look-ups by the source of the answer.", [
  "result",
]);
const entries = gauge("muster_gateway_session_cache_entries", "Sessions cached by this gateway.");

/** Sessions as identity last described them, for as long as the lease covers that. */
export function createSessionCache(options: SessionCacheOptions): SessionCache {
  const { resolve, lease, max, log, onDrop = () => {}, nowMs = () => performance.now() } = options;
  const revokedIds = lru<true>(max, { ttl: revokedForMs, nowMs });
  const cache = createFreshCache<Session>({
    lease,
    max,
    isRefusal: (error) => error instanceof AppError && error.code === "session_revoked",
    // The same object while nothing changes: signed caller tokens and rendered replies are keyed by it.
    merge: (before, after) => (equals(PrincipalSchema, before.principal, after.principal) ? before : after),
    onDrop: (session) => onDrop(session.id),
    log,
    lookups,
    entries,
    nowMs,
  });

  const lookUp = async (sessionId: string, userId: string): Promise<Session> => {
    const principal = await resolve(sessionId, userId);
    if (revokedIds.has(sessionId)) throw sessionEnded();
    if (principal.sessionId !== sessionId || principal.userId !== userId) throw sessionEnded();
    return sessionOf(principal);
  };

  return {
    get({ sessionId, userId, userVersion }) {
      if (revokedIds.has(sessionId)) throw sessionEnded();
      return cache.get(
        sessionId,
        () => lookUp(sessionId, userId),
        // A token issued after a change of the user must not be served with the user's earlier state.
        ({ principal }) =>
          principal.userId === userId && principal.userVersion >= userVersion && hasTenantStatuses(principal),
      );
    },
    revoked(sessionId) {
      revokedIds.set(sessionId, true);
      // Its caller tokens may still be cached although the session itself is not.
      if (!cache.drop(sessionId)) onDrop(sessionId);
    },
    forget: (matches) => cache.forget(matches),
    dropAll: () => cache.dropAll(),
    get size() {
      return cache.size;
    },
  };
}
