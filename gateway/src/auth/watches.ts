import { gauge, type Logger } from "@muster/kit";

/** A reply that takes minutes, and whose caller must remain admitted. */
export type Watched = {
  /** As `credentialName`. */
  credential: string;
  isAdmitted(): Promise<boolean>;
  /** Called once, when the caller is no longer admitted or that could not be verified in time. */
  end(): void;
};

export type Watches = {
  watch(watched: Watched): { stop(): void };
  /** Verifies the callers with this credential immediately: it may have been revoked. */
  changed(credential: string): void;
  /** Ends all replies: identity no longer holds back a revocation for this gateway. */
  endAll(): void;
  close(): void;
  readonly size: number;
};

/** The credential of a caller, by what the caches report of it. */
export const credentialName = (kind: "session" | "key" | "agent" | "directory" | "portal", id: string) =>
  `${kind} ${id}`;

/** Interval at which each caller is verified; covers what no change announces, such as the end of a token's life. */
export const verifyEveryMs = 400;
/** How long identity may take to confirm a caller: with the interval, less than a second. */
export const patienceMs = 500;

const watchedGauge = gauge(
  "muster_gateway_watched_replies",
  "Replies that end when their caller is no longer admitted.",
);

/**
 * Ends long replies of callers who are no longer admitted
 * (docs/decisions/0005-gateways-answer-from-memory-under-a-lease.md).
 */
export function createWatches(options: { log: Logger; everyMs?: number; waitMs?: number }): Watches {
  const { log, everyMs = verifyEveryMs, waitMs = patienceMs } = options;
  /** By credential: a change concerns few of them. */
  const byCredential = new Map<string, Set<Verifying>>();
  let size = 0;
  let timer: NodeJS.Timeout | undefined;

  const every = () => [...byCredential.values()].flatMap((some) => [...some]);
  const count = (change: number) => {
    size += change;
    watchedGauge.set(size);
    if (size === 0) {
      clearInterval(timer);
      timer = undefined;
    } else timer ??= setInterval(() => every().forEach(verify), everyMs).unref();
  };
  /** False when it was removed before. */
  const remove = (one: Verifying): boolean => {
    clearTimeout(one.late);
    const { credential } = one.watched;
    const others = byCredential.get(credential);
    if (!others?.delete(one)) return false;
    if (others.size === 0) byCredential.delete(credential);
    count(-1);
    return true;
  };
  const end = (one: Verifying) => {
    if (remove(one)) one.watched.end();
  };
  const isAdmitted = async (watched: Watched): Promise<boolean> => {
    try {
      return await watched.isAdmitted();
    } catch (err) {
      log.warn({ err }, "caller of a long reply not verified");
      return false;
    }
  };
  const verify = (one: Verifying) => {
    // The look-up in flight is repeated by the cache when a change concerns it.
    if (one.late !== undefined) return;
    one.late = setTimeout(() => end(one), waitMs);
    void isAdmitted(one.watched).then((admitted) => {
      clearTimeout(one.late);
      one.late = undefined;
      if (!admitted) end(one);
    });
  };

  return {
    watch(watched) {
      const one: Verifying = { watched, late: undefined };
      const others = byCredential.get(watched.credential);
      if (others) others.add(one);
      else byCredential.set(watched.credential, new Set([one]));
      count(1);
      return { stop: () => void remove(one) };
    },
    changed(credential) {
      for (const one of [...(byCredential.get(credential) ?? [])]) verify(one);
    },
    endAll: () => every().forEach(end),
    close: () => every().forEach(remove),
    get size() {
      return size;
    },
  };
}

/** `late` ends the reply unless the look-up in flight confirms its caller first. */
type Verifying = { watched: Watched; late: NodeJS.Timeout | undefined };
