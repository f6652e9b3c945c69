export type Pressure = {
  /**
   * Resolves when an event of the organization may be taken: at once, or within 250 ms. Throws `overloaded` when what
   * was taken before waits for this deployment, `rate_limited` when it waits behind the organization's own burst.
   */
  admit(orgId: string): Promise<void>;
  /** Looks now. */
  look(): Promise<void>;
  stop(): Promise<void>;
};
