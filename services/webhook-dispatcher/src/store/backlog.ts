import { byIndexAlone, plainArray, sql, type Tx } from "@muster/db";
import type { MatchedEvent } from "../rules/intake.ts";

const takeLock = 7_166_340_216;

/** Positions in the stream up to which everything is stored, and up to which it was delivered. */
export type Floor = { settled: number; delivered: number };
/** The events taken, and whether any are left. */
export type TakenEvents = { events: MatchedEvent[]; left: boolean };

/** Whether there is any backlog. Reads only. */
export async function isAnyBacklogged(tx: Tx): Promise<boolean> {
  return (await tx.query(sql`SELECT FROM webhook_backlog LIMIT 1`)).length > 0;
}

/**
 * Adds events to the backlog in their order; those of the organizations in `inOrder` also wait until all earlier ones
 * of the stream are stored.
 */
export async function addToBacklog(
  tx: Tx,
  events: readonly MatchedEvent[],
  inOrder: ReadonlySet<string>,
): Promise<void> {
  const column = <T>(of: (event: MatchedEvent) => T) => events.map(of);
  await tx.execute(sql`
    INSERT INTO webhook_backlog (org_id, event_id, type, occurred_at, body, posted_by, seq)
    SELECT * FROM unnest(${plainArray(column(({ orgId }) => orgId))}::uuid[], ${plainArray(column(({ id }) => id))}::uuid[],
                         ${column(({ type }) => type)}::text[], ${plainArray(column((event) => event.occurredAt))}::timestamptz[],
                         ${column(({ body }) => body)}::text[], ${column(({ poster }) => poster)}::text[],
                         ${plainArray(column(({ orgId, seq }) => (inOrder.has(orgId) ? seq : 0)))}::bigint[])`);
}

/**
 * Takes the oldest events of every organization out of the backlog: `each`, or more when organizations are few, fewer
 * when its active webhooks make more than `deliveries` of them, `most` in all, in the order of the stream for ordered
 * webhooks; none while another matcher does the same. `floor` must have been read before the transaction started.
 */
export async function takeBacklogged(
  tx: Tx,
  each: number,
  most: number,
  deliveries: number,
  { settled, delivered }: Floor,
): Promise<TakenEvents> {
  const [, [lock]] = await Promise.all([
    byIndexAlone(tx),
    tx.query<{ mine: boolean; any: boolean }>(sql`
      SELECT pg_try_advisory_xact_lock(${takeLock}::bigint) AS mine, EXISTS (SELECT FROM webhook_backlog LIMIT 1) AS any`),
  ]);
  if (!lock?.mine || !lock.any) return { events: [], left: lock?.any ?? false };
  const taken = await tx.query<MatchedEvent & { position: number }>(sql`
    WITH RECURSIVE orgs AS (
      (SELECT org_id FROM webhook_backlog ORDER BY org_id LIMIT 1)
      UNION ALL
      SELECT (SELECT b.org_id FROM webhook_backlog b WHERE b.org_id > o.org_id ORDER BY b.org_id LIMIT 1)
      FROM orgs o WHERE o.org_id IS NOT NULL
    ), sized AS MATERIALIZED (
      SELECT o.org_id, (SELECT count(*) FROM webhooks w
                        WHERE w.org_id = o.org_id AND w.status = 'active' AND w.deleted_at IS NULL) AS webhooks
      FROM orgs o WHERE o.org_id IS NOT NULL
    ), picked AS MATERIALIZED (
      SELECT b.row FROM sized o CROSS JOIN LATERAL (
        SELECT b.ctid AS row, row_number() OVER (ORDER BY b.seq, b.id) AS rank
        FROM webhook_backlog b
        WHERE b.org_id = o.org_id AND (
          b.seq <= ${settled}::bigint
          -- Of a stream that no longer exists: the row is beyond the end of the current one, and older than that reading.
          OR (b.seq > ${delivered}::bigint AND b.put_at < statement_timestamp() - interval '1 minute'))
        ORDER BY b.seq, b.id
        LIMIT least(greatest(${each}::int, ${most}::int / 2 / greatest(1, (SELECT count(*) FROM sized))),
                    greatest(1, ${deliveries}::int / greatest(1, o.webhooks)))
      ) AS b
      -- Of each organization its oldest, without a gap.
      ORDER BY b.rank, random() LIMIT ${most}::int
    )
    -- By their locations in the table: a join would compare each row there is with each that was picked.
    DELETE FROM webhook_backlog b WHERE b.ctid = ANY (ARRAY(SELECT p.row FROM picked p))
    RETURNING b.id AS position, b.seq, b.event_id AS id, b.org_id AS "orgId", b.type, b.occurred_at AS "occurredAt", b.body,
              b.posted_by AS poster`);
  return { events: taken.sort((a, b) => a.seq - b.seq || a.position - b.position), left: true };
}
