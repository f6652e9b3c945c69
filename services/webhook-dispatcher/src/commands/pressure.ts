export type Pressure = {
  /**
   * Resolves when an event of the organization may be taken: at once, or within 250 ms. Throws `overloaded` when
   * earlier events wait because this deployment is too slow, `rate_limited` when they wait behind the organization's
   * own burst.
   */
  admit(orgId: string): Promise<void>;
  /** Checks the pressure now. */
  look(): Promise<void>;
  stop(): Promise<void>;
};
