import type { Tx } from "@muster/db";
import type { Claimed, ClaimLimits, Payload } from "../store/queue.ts";

/** A delivery that was leased to this process by the transaction that stored it, and what is sent. */
export type DirectLease = { claim: Claimed; payload: Payload };

/** What the intake needs of the sender in its process. */
export type DirectSends = {
  limits: Omit<ClaimLimits, "most" | "partners"> & { openRequests: number };
  /** Number of deliveries that this process may lease now. */
  room(): number;
  /** Whether no claim of this process is under way or about to begin: neither waits for the other. */
  isResting(): boolean;
  /** Requests of this process that are under way, by the keys of rules/shares.ts. */
  underWay(key: string): number;
  /** Runs after the other leasing work of this process: both count the same free places. */
  inTurn<T>(lease: () => Promise<T>): Promise<T>;
  /** Whether the endpoints of these deliveries are known in the claimed generation: `open` would read nothing. */
  isOpen(claims: readonly Claimed[]): boolean;
  /** Reads the endpoints of deliveries that are to be leased, within the transaction that leases them. */
  open(tx: Tx, claims: readonly Claimed[]): Promise<void>;
  /**
   * Starts sending the leased deliveries at once. A batch that a stalled process receives much later than
   * `committedMs`, when COMMIT was sent, is sent only if its webhook has not changed since.
   */
  begin(leases: readonly DirectLease[], committedMs: number): void;
  /** Deliveries of these webhooks wait until one of the webhook's own requests has ended. */
  noteBlocked(webhookIds: Iterable<string>): void;
};

/** Runs the tasks that it is passed one after the other. */
export function createTurns(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const mine = last.then(run, run);
    last = mine.catch(() => undefined);
    return mine;
  };
}
