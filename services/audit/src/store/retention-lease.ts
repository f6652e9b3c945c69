import { type Database, sql } from "@muster/db";
import { systemCaller } from "@muster/kit";

export type RetentionLease = {
  /** Whether this process holds the pruning lease, for the next `leaseSeconds`. */
  hold(): Promise<boolean>;
  release(): Promise<void>;
};

const who = { caller: systemCaller("audit-retention") };

/**
 * One active worker at a time, by the database's clock. It only saves work: a prune compares the base under a lock, so
 * two workers would delete nothing twice.
 */
export function retentionLease(db: Database, holder: string, leaseSeconds: number): RetentionLease {
  return {
    async hold() {
      const held = await db.inOneBatch(who, (tx) =>
        tx.execute(sql`
          UPDATE retention_lease SET holder = ${holder}, fence = fence + (holder IS DISTINCT FROM ${holder})::int,
            expires_at = now() + ${leaseSeconds}::int * interval '1 second'
          WHERE holder = ${holder} OR holder IS NULL OR expires_at < now()`),
      );
      return held === 1;
    },
    async release() {
      await db.inOneBatch(who, (tx) =>
        tx.execute(sql`UPDATE retention_lease SET holder = NULL, expires_at = '-infinity' WHERE holder = ${holder}`),
      );
    },
  };
}
