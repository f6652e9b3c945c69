import { counter, gauge, keepWorking, type Logger, sleep } from "@muster/kit";

/** What a heartbeat brings: the life of the lease and the changes that count under it. */
export type Heartbeat<C> = { leaseMs: number; changes: readonly C[]; tooMany: boolean };

export type Lease = {
  /**
   * Whether an answer of identity that was asked for then is covered: the lease is valid now and has been without a gap since
   * before the question. Identity answers no revocation before this gateway applied it, or can no longer say yes here.
   */
  covers(askedAtMs: number): boolean;
  stop(): Promise<void>;
};

export type LeaseOptions<C> = {
  heartbeat(): Promise<Heartbeat<C>>;
  /** Applies what the heartbeat brought; it counts only afterwards. */
  apply(heartbeat: Heartbeat<C>): void;
  /** Says that nobody need wait for this gateway any more. */
  leave(): Promise<void>;
  log: Logger;
  nowMs?: () => number;
};

/** Milliseconds between heartbeats. */
export const heartbeatMs = 500;

const validGauge = gauge("gateway_lease_valid", "1 while this gateway holds a lease at identity, else 0.");
const lost = counter("gateway_lease_lost_total", "Times the lease ran out before it was renewed.");

/** Holds a lease at identity by heartbeats until stopped (docs/decisions/0005-leases.md). */
export function startLease<C>(options: LeaseOptions<C>): Lease {
  const { heartbeat, apply, leave, log, nowMs = () => performance.now() } = options;
  let sinceMs = Number.POSITIVE_INFINITY;
  let validUntilMs = Number.NEGATIVE_INFINITY;
  let failing = false;

  const beat = async (): Promise<void> => {
    // Counted from before the question, so that it ends here before it ends there.
    const sentMs = nowMs();
    const reply = await heartbeat();
    apply(reply);
    const nowIs = nowMs();
    if (nowIs >= validUntilMs) {
      if (validUntilMs > 0) lost.inc();
      // What was remembered before is not covered: nobody waited for this gateway meanwhile.
      sinceMs = nowIs;
    }
    validUntilMs = Math.max(validUntilMs, sentMs + reply.leaseMs);
  };

  const failed = (err: unknown) => {
    if (!failing) log.warn({ err }, "lease at identity not renewed, trying again");
    failing = true;
  };
  // A heartbeat's own time counts to the time between two.
  const beating = keepWorking(
    0,
    async (signal) => {
      const startedMs = nowMs();
      try {
        await beat();
        if (failing) log.info("lease at identity renewed again");
        failing = false;
      } catch (err) {
        failed(err);
      }
      validGauge.set(nowMs() < validUntilMs ? 1 : 0);
      await sleep(Math.max(0, heartbeatMs - (nowMs() - startedMs)), signal);
    },
    failed,
  );

  return {
    covers(askedAtMs) {
      return askedAtMs >= sinceMs && nowMs() < validUntilMs;
    },
    async stop() {
      await beating.stop();
      validUntilMs = Number.NEGATIVE_INFINITY;
      await leave();
    },
  };
}
