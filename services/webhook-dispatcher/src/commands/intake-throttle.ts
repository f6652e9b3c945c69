export type IntakeThrottle = {
  /**
   * Resolves when an event of the organization may be taken: immediately, or within 250 ms. Throws `overloaded` when
   * its deliveries wait because this deployment is too slow, `rate_limited` when its own backlog waits.
   */
  admit(orgId: string): Promise<void>;
  /** Checks now which organizations are throttled. */
  check(): Promise<void>;
  stop(): Promise<void>;
};
