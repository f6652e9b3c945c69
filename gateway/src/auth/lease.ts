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
  return new HeldLease<C>(options);
}

class HeldLease<C> implements Lease {
  readonly #heartbeat: LeaseOptions<C>["heartbeat"];
  readonly #apply: LeaseOptions<C>["apply"];
  readonly #leave: LeaseOptions<C>["leave"];
  readonly #mayIdle: LeaseOptions<C>["mayIdle"];
  readonly #onLost: LeaseOptions<C>["onLost"];
  readonly #log: LeaseOptions<C>["log"];
  readonly #nowMs: NonNullable<LeaseOptions<C>["nowMs"]>;
  readonly #everyMs: NonNullable<LeaseOptions<C>["everyMs"]>;
  #sinceMs = Number.POSITIVE_INFINITY;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #wake: () => void = () => undefined;
  #failing = false;
  #usedMs: number;
  #loss: NodeJS.Timeout | undefined;
  #idle: { end(): void; renewed: Promise<void> } | null = null;
  readonly #ended: Promise<void>;

  constructor(options: LeaseOptions<C>) {
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
    this.#heartbeat = heartbeat;
    this.#apply = apply;
    this.#leave = leave;
    this.#mayIdle = mayIdle;
    this.#onLost = onLost;
    this.#log = log;
    this.#nowMs = nowMs;
    this.#everyMs = everyMs;
    this.#usedMs = this.#nowMs();
    this.#ended = this.#run();
  }

  async #beat(): Promise<void> {
    // Counted from before the request, so that the lease ends here before it ends at identity.
    const sentMs = this.#nowMs();
    const reply = await this.#heartbeat();
    this.#apply(reply);
    const nowIs = this.#nowMs();
    if (nowIs >= this.#validUntilMs) {
      if (this.#validUntilMs > 0) lost.inc();
      // Cached answers are not covered: meanwhile identity did not wait for this gateway.
      this.#sinceMs = nowIs;
    }
    this.#validUntilMs = Math.max(this.#validUntilMs, sentMs + reply.leaseMs);
    this.#watchForLoss(this.#validUntilMs - nowIs);
  }

  /** The grace is counted from when this process can act, not from when the lease ended. */
  #watchForLoss(inMs: number): void {
    clearTimeout(this.#loss);
    this.#loss = setTimeout(() => {
      // Timers may fire a little early.
      if (this.#nowMs() < this.#validUntilMs) return this.#watchForLoss(this.#validUntilMs - this.#nowMs());
      this.#loss = setTimeout(() => {
        if (this.#nowMs() >= this.#validUntilMs) this.#onLost();
      }, graceMs);
      this.#loss.unref();
    }, inMs);
    this.#loss.unref();
  }

  /**
   * Returns the lease until the next request, which waits for its renewal: identity would not hold back a revocation
   * for answers it returned before.
   */
  async #becomeIdle(): Promise<(() => void) | null> {
    // First here, then at identity: nothing cached counts any more.
    this.#validUntilMs = Number.NEGATIVE_INFINITY;
    clearTimeout(this.#loss);
    let renewed: () => void = () => undefined;
    const ended = new Promise<void>((end) => {
      const waiting = new Promise<void>((resolve) => {
        renewed = resolve;
      });
      this.#idle = { end, renewed: waiting };
      this.#wake = end;
    });
    await this.#leave().catch((err: unknown) => this.#log.warn({ err }, "lease at identity not returned"));
    if (!this.#stopped) await ended;
    return renewed;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const renewed = this.#nowMs() - this.#usedMs >= idleAfterMs && this.#mayIdle() ? await this.#becomeIdle() : null;
      if (this.#stopped) {
        renewed?.();
        break;
      }
      const startedMs = this.#nowMs();
      try {
        await this.#beat();
        if (this.#failing) this.#log.info("lease at identity renewed again");
        this.#failing = false;
      } catch (err) {
        if (!this.#failing) this.#log.warn({ err }, "lease at identity not renewed, trying again");
        this.#failing = true;
      }
      validGauge.set(this.#nowMs() < this.#validUntilMs ? 1 : 0);
      if (renewed) {
        this.#idle = null;
        renewed();
      }
      const leftMs = this.#everyMs - (this.#nowMs() - startedMs);
      if (this.#stopped) break;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#timer = setTimeout(resolve, Math.max(0, leftMs));
      });
    }
  }

  readonly covers = (requestedAtMs: number): boolean => {
    this.#usedMs = this.#nowMs();
    return requestedAtMs >= this.#sinceMs && this.#usedMs < this.#validUntilMs;
  };

  readonly awake = (): Promise<void> | null => {
    this.#usedMs = this.#nowMs();
    this.#idle?.end();
    return this.#idle?.renewed ?? null;
  };

  readonly isHeld = (): boolean => {
    return this.#nowMs() < this.#validUntilMs;
  };

  readonly stop = async (): Promise<void> => {
    this.#stopped = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#loss);
    this.#wake();
    await this.#ended;
    this.#validUntilMs = Number.NEGATIVE_INFINITY;
    await this.#leave();
  };
}
