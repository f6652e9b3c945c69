import type { Logger } from "@muster/kit";
import { leaseMs, type RelayStore } from "./relay-store.ts";

export type RelayLease = {
  /** The fencing number while the lease is surely ours, else null. */
  fence(): number | null;
  /** Takes the lease if it is free; returns the new fencing number, or null. */
  take(): Promise<number | null>;
  /** Notes that the database no longer knows us as the holder. */
  lose(): void;
  /** Returns the lease; it may be taken again. */
  giveBack(): Promise<void>;
  /** Stops renewing and returns the lease. */
  release(): Promise<void>;
};

const renewMs = 1_500;

/** Holds the lease of a schema's relay: renews it, and drops it once no renewal succeeded for its whole length. */
export function createRelayLease(store: RelayStore, log: Logger, onLost: () => void): RelayLease {
  let held: { fence: number; validUntilMs: number } | null = null;

  const lose = (): void => {
    if (!held) return;
    log.warn({ fence: held.fence }, "relay lease lost");
    held = null;
    onLost();
  };

  const renew = async (current: NonNullable<typeof held>): Promise<void> => {
    const sentMs = performance.now();
    try {
      const renewed = await store.renew(current.fence);
      if (renewed) current.validUntilMs = sentMs + leaseMs;
      else if (held === current) lose();
    } catch (err) {
      log.warn({ err }, "relay lease not renewed");
    }
  };
  const giveBack = async (): Promise<void> => {
    const last = held;
    held = null;
    if (last) await store.release(last.fence);
  };
  const timer = setInterval(() => {
    if (held) void renew(held);
  }, renewMs);

  return {
    fence() {
      if (held && performance.now() >= held.validUntilMs) lose();
      return held?.fence ?? null;
    },
    async take() {
      // Counted from before the query: the database's lease began later.
      const sentMs = performance.now();
      const fence = await store.acquire();
      if (fence === null) return null;
      held = { fence, validUntilMs: sentMs + leaseMs };
      log.info({ fence }, "relay lease taken");
      return fence;
    },
    lose,
    giveBack,
    async release() {
      clearInterval(timer);
      await giveBack();
    },
  };
}
