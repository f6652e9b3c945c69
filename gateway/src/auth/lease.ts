import { counter, gauge, type Logger } from "@muster/kit";

/** What a heartbeat returns: the life of the lease and the changes that count under it. */
export type Heartbeat<C> = { leaseMs: number; changes: readonly C[]; tooMany: boolean };

export type Lease = {
  /**
   * Whether identity's answer to a request sent at that time is covered: the lease is valid now and has been valid
   * without a gap since before the request. Identity confirms no revocation until this gateway has applied it or its
   * lease has expired.
   */
  covers(requestedAtMs: number): boolean;
  /**
   * Call before a request to identity: resolves once a returned lease was renewed or the renewal failed. Null while the
   * lease is held.
   */
  awake(): Promise<void> | null;
  /** Whether the lease is valid now. */
  isHeld(): boolean;
  stop(): Promise<void>;
};

export type LeaseOptions<C> = {
  heartbeat(): Promise<Heartbeat<C>>;
  /** Applies what the heartbeat brought; it counts only afterwards. */
  apply(heartbeat: Heartbeat<C>): void;
  /** Releases the lease, so that identity no longer waits for this gateway. */
  leave(): Promise<void>;
  /** Whether nothing but what the lease covers depends on changes being applied before they are answered. */
  mayIdle(): boolean;
  /** Called when the lease ran out and was not renewed within `graceMs`; not when it is returned. */
  onLost(): void;
  log: Logger;
  nowMs?: () => number;
  /** Milliseconds between heartbeats. */
  everyMs?: number;
};

/**
 * For a heartbeat after the lease ran out, before `onLost`: a process that was suspended or busy for two seconds renews
 * first, and the heartbeat brings what was revoked meanwhile.
 */
export const graceMs = 100;

/** Between heartbeats. */
export const heartbeatMs = 500;
/** Idle time after which the lease is returned: an idle gateway costs identity nothing. */
export const idleAfterMs = 10_000;

const validGauge = gauge(
  "muster_gateway_lease_valid",
  "1 while this gateway holds a lease at identity or is idle, else 0.",
);
const lost = counter("muster_gateway_lease_lost_total", "Times the lease ran out before it was renewed.");

/**
 * Holds a lease at identity by heartbeats until stopped, except while the gateway is idle
 * (docs/decisions/0005-gateways-answer-from-memory-under-a-lease.md).
 */
export function startLease<C>(options: LeaseOptions<C>): Lease {
  const {
    heartbeat,
    apply,
    leave,
    mayIdle,
    onLost,
    log,
    nowMs = () => performance.now(),
    everyMs = heartbeatMs,
  } = options;
  let sinceMs = Number.POSITIVE_INFINITY;
  let validUntilMs = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let failing = false;
  let usedMs = nowMs();
  let loss: NodeJS.Timeout | undefined;
  let idle: { end(): void; renewed: Promise<void> } | null = null;

  const beat = async (): Promise<void> => {
    // Counted from before the request, so that the lease ends here before it ends at identity.
    const sentMs = nowMs();
    const reply = await heartbeat();
    apply(reply);
    const nowIs = nowMs();
    if (nowIs >= validUntilMs) {
      if (validUntilMs > 0) lost.inc();
      // Cached answers are not covered: meanwhile identity did not wait for this gateway.
      sinceMs = nowIs;
    }
    validUntilMs = Math.max(validUntilMs, sentMs + reply.leaseMs);
    watchForLoss(validUntilMs - nowIs);
  };

  /** The grace is counted from when this process can act, not from when the lease ended. */
  const watchForLoss = (inMs: number): void => {
    clearTimeout(loss);
    loss = setTimeout(() => {
      // Timers may fire a little early.
      if (nowMs() < validUntilMs) return watchForLoss(validUntilMs - nowMs());
      loss = setTimeout(() => {
        if (nowMs() >= validUntilMs) onLost();
      }, graceMs);
      loss.unref();
    }, inMs);
    loss.unref();
  };

  /**
   * Returns the lease until the next request, which waits for its renewal: identity would not hold back a revocation
   * for answers it returned before.
   */
  const becomeIdle = async (): Promise<(() => void) | null> => {
    // First here, then at identity: nothing cached counts any more.
    validUntilMs = Number.NEGATIVE_INFINITY;
    clearTimeout(loss);
    let renewed: () => void = () => undefined;
    const ended = new Promise<void>((end) => {
      const waiting = new Promise<void>((resolve) => {
        renewed = resolve;
      });
      idle = { end, renewed: waiting };
      wake = end;
    });
    await leave().catch((err: unknown) => log.warn({ err }, "lease at identity not returned"));
    if (!stopped) await ended;
    return renewed;
  };

  const run = async (): Promise<void> => {
    while (!stopped) {
      const renewed = nowMs() - usedMs >= idleAfterMs && mayIdle() ? await becomeIdle() : null;
      if (stopped) {
        renewed?.();
        break;
      }
      const startedMs = nowMs();
      try {
        await beat();
        if (failing) log.info("lease at identity renewed again");
        failing = false;
      } catch (err) {
        if (!failing) log.warn({ err }, "lease at identity not renewed, trying again");
        failing = true;
      }
      validGauge.set(nowMs() < validUntilMs ? 1 : 0);
      if (renewed) {
        idle = null;
        renewed();
      }
      const leftMs = everyMs - (nowMs() - startedMs);
      if (stopped) break;
      await new Promise<void>((resolve) => {
        wake = resolve;
        timer = setTimeout(resolve, Math.max(0, leftMs));
      });
    }
  };
  let wake: () => void = () => undefined;
  const ended = run();

  return {
    covers(requestedAtMs) {
      usedMs = nowMs();
      return requestedAtMs >= sinceMs && usedMs < validUntilMs;
    },
    awake() {
      usedMs = nowMs();
      idle?.end();
      return idle?.renewed ?? null;
    },
    isHeld: () => nowMs() < validUntilMs,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      clearTimeout(loss);
      wake();
      await ended;
      validUntilMs = Number.NEGATIVE_INFINITY;
      await leave();
    },
  };
}
