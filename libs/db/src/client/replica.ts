import { gauge, keepWorking, type Logger, systemCaller } from "@muster/kit";
import { type Database, openDatabase } from "./database.ts";
import { sql } from "./statement.ts";

const lagSeconds = gauge("muster_db_replica_lag_seconds", "How far the read replica lags; -1 when it is not read.", [
  "database",
]);

/** Where long reads go that may lag a little. */
export type Reader = {
  /**
   * The database to read from now; `asOf`: everything committed until then is there. Null on the primary: everything
   * is.
   */
  pick(): { db: Database; asOf: Date | null };
};

export type Replica = Reader & {
  /** How far it lags, or why it is not read, for `/readyz?verbose`. */
  state(): string;
  stop(): Promise<void>;
};

export type ReplicaOptions = {
  /** As the same role as the primary's. */
  url: string;
  primary: Database;
  max: number;
  log: Logger;
  /** A replica that lags more is not read. */
  maxLagMs: number;
  /** Milliseconds between two comparisons with the primary. */
  pollMs?: number;
};

/** Reads what may lag a little from the primary. */
export const primaryReader = (db: Database): Reader => ({ pick: () => ({ db, asOf: null }) });

type Mark = { at: Date; atMs: number; lsn: bigint };

/**
 * A standby for long reads. What it holds is known, not guessed: the primary's position in its log is noted with the
 * time, and once the standby has replayed that far it holds everything until then. Lagging more than `maxLagMs`,
 * away or promoted, the primary is read instead.
 */
export function openReplica({ url, primary, max, log, maxLagMs, pollMs = 1_000 }: ReplicaOptions): Replica {
  const { name } = primary;
  const db = openDatabase({ url, max, name: `${name}-read`, log, standby: true });
  const who = { caller: systemCaller(name) };
  let marks: Mark[] = [];
  let holds: Mark | null = null;
  let trouble: string | null = "not compared with the primary yet";

  const compare = async () => {
    try {
      const atMs = performance.now();
      const [here] = await primary.read<{ lsn: string; at: Date }>(
        who,
        sql`select pg_current_wal_lsn()::text as lsn, clock_timestamp() as at`,
      );
      if (here) marks.push({ at: here.at, atMs, lsn: positionOf(here.lsn) });
      const [there] = await db.read<{ standby: boolean; lsn: string | null }>(
        who,
        sql`select pg_is_in_recovery() as standby, pg_last_wal_replay_lsn()::text as lsn`,
      );
      if (!there?.standby || there.lsn === null) {
        holds = null;
        trouble = "it is no standby";
        return;
      }
      const replayed = positionOf(there.lsn);
      holds = marks.findLast(({ lsn }) => lsn <= replayed) ?? holds;
      // Older marks are of no more use; marks that the standby will never reach (of a lost server) are dropped by age.
      marks = marks.filter((mark) => mark.atMs > (holds?.atMs ?? 0) && mark.atMs > atMs - 10 * maxLagMs);
      trouble = null;
    } catch (error) {
      holds = null;
      trouble = error instanceof Error ? error.message : String(error);
    } finally {
      lagSeconds.set({ database: name }, fresh() === null ? -1 : lagMs() / 1_000);
    }
  };
  const lagMs = () => performance.now() - (holds?.atMs ?? Number.NEGATIVE_INFINITY);
  const fresh = () => (holds !== null && lagMs() <= maxLagMs ? holds : null);
  const comparing = keepWorking(pollMs, compare, (err) => log.error({ err }, "read replica not compared"));

  return {
    pick() {
      const mark = fresh();
      return mark ? { db, asOf: mark.at } : { db: primary, asOf: null };
    },
    state() {
      if (trouble !== null) return `not read: ${trouble}`;
      const seconds = (lagMs() / 1_000).toFixed(1);
      return fresh() ? `lags ${seconds} s` : `not read: lags ${seconds} s`;
    },
    async stop() {
      await comparing.stop();
      await db.close();
    },
  };
}

/** A position in the log, `16/B374D848`, as a number that grows. */
export function positionOf(lsn: string): bigint {
  const [high = "0", low = "0"] = lsn.split("/");
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}
