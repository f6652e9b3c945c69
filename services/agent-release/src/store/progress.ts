import { type Database, sql, sqlName, type Tx } from "@muster/db";
import { type CallContext, decodeCursor, foreignCursor, type Page } from "@muster/kit";
import { type ListPage, readListPage, visibleTo } from "@muster/service";
import type { AttemptRow } from "./attempts.ts";
import type { RolloutRow } from "./rollouts.ts";

export type Bucket = { at: Date; offered: number; returned: number; succeeded: number; failed: number };

const bucketsMax = 200;
const steps = [10, 30, 60, 300, 900, 3_600, 21_600, 86_400];

/** Seconds of a bucket: `wanted`, or more when there would be more than 200 buckets. */
export async function bucketSecondsOf(tx: Tx, rolloutId: string, wanted: number): Promise<number> {
  const [row] = await tx.query<{ seconds: number | null }>(sql`
    SELECT extract(epoch FROM clock_timestamp() - min(offered_at))::float8 AS seconds
    FROM update_attempt WHERE rollout_id = ${rolloutId}::uuid`);
  const least = (row?.seconds ?? 0) / bucketsMax;
  const step = steps.find((each) => each >= least) ?? Math.ceil(least);
  return Math.max(wanted, step);
}

/** The events in each bucket of time, oldest first; empty buckets are omitted. */
export function progressOf(tx: Tx, rolloutId: string, seconds: number): Promise<Bucket[]> {
  const begin = (column: "offered_at" | "returned_at" | "ended_at") =>
    sql`date_bin(make_interval(secs => ${seconds}::int), ${sqlName(column)}, to_timestamp(0))`;
  return tx.query<Bucket>(sql`
    SELECT at, coalesce(sum(n) FILTER (WHERE what = 'offered'), 0)::int AS offered,
           coalesce(sum(n) FILTER (WHERE what = 'returned'), 0)::int AS returned,
           coalesce(sum(n) FILTER (WHERE what = 'succeeded'), 0)::int AS succeeded,
           coalesce(sum(n) FILTER (WHERE what = 'failed'), 0)::int AS failed
    FROM (
      SELECT ${begin("offered_at")} AS at, 'offered' AS what, count(*) AS n
      FROM update_attempt WHERE rollout_id = ${rolloutId}::uuid GROUP BY 1
      UNION ALL
      SELECT ${begin("returned_at")}, 'returned', count(*) FROM update_attempt
      WHERE rollout_id = ${rolloutId}::uuid AND returned_at IS NOT NULL GROUP BY 1
      UNION ALL
      SELECT ${begin("ended_at")}, state, count(*) FROM update_attempt
      WHERE rollout_id = ${rolloutId}::uuid AND ended_at IS NOT NULL GROUP BY 1, 2
    ) AS facts
    GROUP BY at ORDER BY at LIMIT ${bucketsMax + 1}`);
}

/** Devices of a ring that were offered the version, and what came of the newest offer of each. */
export type WaveCount = { wave: number; offered: number; inFlight: number; succeeded: number; failed: number };

/** By ring; rings whose devices were offered nothing are omitted. Devices that took back their offer count nowhere. */
export function waveCounts(tx: Tx, rolloutId: string): Promise<WaveCount[]> {
  return tx.query<WaveCount>(sql`
    SELECT wave, count(*)::int AS offered, count(*) FILTER (WHERE state IN ('offered', 'returned'))::int AS "inFlight",
           count(*) FILTER (WHERE state = 'succeeded')::int AS succeeded, count(*) FILTER (WHERE state = 'failed')::int AS failed
    FROM (SELECT DISTINCT ON (device_id) wave, state FROM update_attempt
          WHERE rollout_id = ${rolloutId}::uuid AND wave IS NOT NULL AND state <> 'cancelled'
          ORDER BY device_id, offered_at DESC) newest
    GROUP BY wave ORDER BY wave`);
}

/** When the updates in flight end at the rate of the last buckets; null without any, or while none has ended yet. */
export function expectedEnd(row: RolloutRow, buckets: readonly Bucket[], seconds: number, now: Date): Date | null {
  if (row.in_flight === 0) return null;
  const last = buckets.slice(-5);
  const ended = last.reduce((sum, { succeeded, failed }) => sum + succeeded + failed, 0);
  if (ended === 0) return null;
  const perSecond = ended / (last.length * seconds);
  return new Date(now.getTime() + (row.in_flight / perSecond) * 1_000);
}

/** An attempt with its time in microseconds since 1970, by which lists go on. */
type ListedAttempt = AttemptRow & { offered_micros: string };

/** Attempts of a rollout of devices in the caller's access scope, newest first (index update_attempt_rollout). */
export function listAttempts(
  db: Database,
  who: CallContext,
  { rolloutId, state, reason }: { rolloutId: string; state: string; reason: string },
  page: Page,
): Promise<ListPage<AttemptRow>> {
  const { siteIds } = who.caller;
  const ofSites = siteIds === null ? sql`true` : sql`t.site_id = ANY (${[...siteIds]}::uuid[])`;
  return readListPage<ListedAttempt>(
    db,
    who,
    {
      table: sql`update_attempt`,
      columns: sql`t.*, (extract(epoch FROM t.offered_at) * 1000000)::bigint::text AS offered_micros`,
      wanted: sql`${visibleTo(who.caller)} AND ${ofSites} AND t.rollout_id = ${rolloutId}::uuid
        AND (${state}::text = '' OR t.state = ${state}::text) AND (${reason}::text = '' OR t.reason = ${reason}::text)`,
      order: sql`t.offered_at DESC, t.id DESC`,
      position: (row) => [row.offered_micros, row.id],
      after(cursor) {
        const [micros, id] = decodeCursor(cursor, ["text", "uuid"]);
        if (!/^\d{1,16}$/.test(micros)) throw foreignCursor();
        return sql`(t.offered_at, t.id) < (to_timestamp(0) + ${micros}::bigint * interval '1 microsecond', ${id}::uuid)`;
      },
    },
    page,
  );
}
