import type { Tx } from "@muster/db";
import type { Claimed, ClaimLimits, Payload } from "../store/queue.ts";

/** A delivery, leased to this process by the transaction that stored it, and its payload. */
export type InlineLease = { claim: Claimed; payload: Payload };

/** The sender of this process, as the intake and the matcher use it. */
export type InlineSends = {
  limits: Omit<ClaimLimits, "most" | "partners"> & { openRequests: number };
  /** Number of deliveries that this process may lease now. */
  room(): number;
  /** Whether no claim of this process runs or is about to start: neither waits for the other. */
  isIdle(): boolean;
  /** Requests of this process in flight, by the keys of rules/shares.ts. */
  inFlight(key: string): number;
  /** Runs after the other leasing work of this process: both count the same free slots. */
  exclusively<T>(lease: () => Promise<T>): Promise<T>;
  /** Reads the webhooks of deliveries to be leased, within the transaction that leases them. */
  open(tx: Tx, claims: readonly Claimed[]): Promise<void>;
  /**
   * Starts sending the leased deliveries. A process that stalled for long after `committedMs`, when COMMIT was sent,
   * first checks that their webhooks have not changed since.
   */
  start(leases: readonly InlineLease[], committedMs: number): void;
  /** Deliveries of these webhooks wait until a request to the same webhook has ended. */
  noteBlocked(webhookIds: Iterable<string>): void;
};

/** Runs tasks one after the other, in the order of the calls. */
export function createMutex(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const mine = last.then(run, run);
    last = mine.catch(() => undefined);
    return mine;
  };
}
