import { equals } from "@bufbuild/protobuf";
import { AppError, counter, gauge, type Logger } from "@muster/kit";
import { type Principal, PrincipalSchema } from "@muster/proto/muster/identity/v1/session_pb";
import { LRUCache } from "lru-cache";
import type { Session } from "../route.ts";
import type { AccessToken } from "./access-token.ts";
import { sessionOf } from "./principal.ts";

/** Younger than this an answer of identity is used as it is; older, it is used once more and asked again behind it. */
export const freshMs = 1_000;
/** No session is admitted on an answer older than this. */
export const hardMs = 2_000;
/** A refusal is repeated this long without asking. */
export const negativeMs = 2_000;
/** Longest life of an access token, and a margin: after that a revoked session's token is refused as expired. */
export const revokedForMs = 65 * 60_000;

/** `askedAtMs` is when the question left, not when the answer came: ages never flatter. */
type Entry = { askedAtMs: number; session: Session | null };

export type SessionCache = {
  /** The person behind a verified token. Throws AppError `session_revoked`, or `unavailable` when identity cannot be asked. */
  get(token: AccessToken): Session | Promise<Session>;
  /** From now on this session is refused here, whatever any answer under way says. */
  revoked(sessionId: string): void;
  /** What is remembered of the sessions that match is stale: each is asked for again before it is used. */
  forget(matches: (session: Session) => boolean): void;
  /** Something may have been missed: nothing cached is used any more. */
  dropAll(): void;
  readonly size: number;
};

export type SessionCacheOptions = {
  resolve(sessionId: string, userId: string): Promise<Principal>;
  max: number;
  log: Logger;
  /** Told of each session that left the cache because it may no longer be what it was. */
  onDrop?: (sessionId: string) => void;
  /** Milliseconds of a monotonic clock. */
  nowMs?: () => number;
};

const asked = counter("gateway_session_lookups_total", "Session look-ups by what answered them.", ["result"]);
const hits = asked.labels("cache");
const stale = asked.labels("cache_refreshing");
const misses = asked.labels("identity");
const refusals = asked.labels("refused");
const entriesGauge = gauge("gateway_session_cache_entries", "Sessions remembered by this gateway.");

/** Sessions as identity last described them, at most 2 s old (docs/decisions/0005-session-cache-until-leases.md). */
export function createSessionCache(options: SessionCacheOptions): SessionCache {
  const { resolve, max, log, onDrop = () => {}, nowMs = () => performance.now() } = options;
  const entries = new LRUCache<string, Entry>({ max });
  const revokedIds = new LRUCache<string, true>({ max, ttl: revokedForMs, perf: { now: nowMs }, ttlResolution: 0 });
  const underWay = new Map<string, Promise<Session>>();
  let epoch = 0;

  const ask = (sessionId: string, userId: string): Promise<Session> => {
    const known = underWay.get(sessionId);
    if (known) return known;
    const asking = askIdentity(sessionId, userId).finally(() => {
      if (underWay.get(sessionId) === asking) underWay.delete(sessionId);
    });
    underWay.set(sessionId, asking);
    return asking;
  };

  const askIdentity = async (sessionId: string, userId: string): Promise<Session> => {
    const askedAtMs = nowMs();
    const askedIn = epoch;
    const before = entries.get(sessionId)?.session ?? null;
    const keep = (session: Session | null) => {
      if (askedIn !== epoch) return;
      entries.set(sessionId, { askedAtMs, session });
      entriesGauge.set(entries.size);
    };
    let principal: Principal;
    try {
      principal = await resolve(sessionId, userId);
    } catch (error) {
      if (error instanceof AppError && error.code === "session_revoked") {
        keep(null);
        onDrop(sessionId);
      }
      throw error;
    }
    if (revokedIds.has(sessionId)) throw refused();
    // A process that was stopped meanwhile would admit on an answer from before.
    if (nowMs() - askedAtMs > hardMs) throw tooOld();
    if (principal.sessionId !== sessionId || principal.userId !== userId) throw refused();
    // The same object while nothing changed: minted caller tokens and rendered replies hang on it.
    const same = before !== null && equals(PrincipalSchema, before.principal, principal);
    const session = same ? before : sessionOf(principal);
    if (before !== null && !same) onDrop(sessionId);
    keep(session);
    return session;
  };

  return {
    get({ sessionId, userId, userVersion }) {
      if (revokedIds.has(sessionId)) {
        refusals.inc();
        throw refused();
      }
      const entry = entries.get(sessionId);
      const ageMs = entry === undefined ? Number.POSITIVE_INFINITY : nowMs() - entry.askedAtMs;
      if (entry !== undefined && entry.session === null && ageMs < negativeMs) {
        refusals.inc();
        throw refused();
      }
      const session = entry?.session;
      // A token minted after a change of the person must not be served with what was true before it.
      const usable = session && session.principal.userId === userId && session.principal.userVersion >= userVersion;
      if (!usable || ageMs >= hardMs) {
        misses.inc();
        return ask(sessionId, userId);
      }
      if (ageMs < freshMs) {
        hits.inc();
        return session;
      }
      stale.inc();
      ask(sessionId, userId).catch((err: unknown) => {
        if (err instanceof AppError && err.code === "session_revoked") return;
        log.warn({ err, sessionId }, "session not refreshed");
      });
      return session;
    },
    revoked(sessionId) {
      revokedIds.set(sessionId, true);
      entries.delete(sessionId);
      entriesGauge.set(entries.size);
      onDrop(sessionId);
    },
    forget(matches) {
      // Answers under way may be from before, too: they are given to who waits for them, and not kept.
      epoch += 1;
      underWay.clear();
      for (const [sessionId, { session }] of [...entries.entries()]) {
        if (session === null || !matches(session)) continue;
        entries.delete(sessionId);
        onDrop(sessionId);
      }
      entriesGauge.set(entries.size);
    },
    dropAll() {
      epoch += 1;
      entries.clear();
      underWay.clear();
      entriesGauge.set(0);
    },
    get size() {
      return entries.size;
    },
  };
}

function tooOld(): AppError {
  return new AppError("unavailable", "Service is temporarily unavailable", { retryAfterSeconds: 1 });
}

function refused(): AppError {
  return new AppError("session_revoked", "Session is revoked");
}
