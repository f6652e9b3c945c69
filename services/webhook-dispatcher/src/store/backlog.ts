import { sql, type Tx } from "@muster/db";
import type { MatchedEvent } from "./matches.ts";

const takeLock = 7_166_340_216;

/** Puts events aside in their order. */
export async function putAside(tx: Tx, events: readonly MatchedEvent[]): Promise<void> {
  const column = <T>(of: (event: MatchedEvent) => T) => events.map(of);
  await tx.execute(sql`
    INSERT INTO webhook_backlog (org_id, event_id, type, occurred_at, body)
    SELECT * FROM unnest(${column(({ orgId }) => orgId)}::uuid[], ${column(({ id }) => id)}::uuid[],
                         ${column(({ type }) => type)}::text[], ${column((event) => event.occurredAt)}::timestamptz[],
                         ${column(({ body }) => body)}::text[])`);
}

/**
 * Takes the oldest events of every organization, `each` or more when they are few, `most` in all, in the order in which they were put aside; none
 * while another matcher is at it.
 */
export async function takeUp(tx: Tx, each: number, most: number): Promise<MatchedEvent[]> {
  const [lock] = await tx.query<{ mine: boolean }>(sql`SELECT pg_try_advisory_xact_lock(${takeLock}::bigint) AS mine`);
  if (!lock?.mine) return [];
  const taken = await tx.query<MatchedEvent & { position: number }>(sql`
    WITH RECURSIVE orgs AS (
      (SELECT org_id FROM webhook_backlog ORDER BY org_id LIMIT 1)
      UNION ALL
      SELECT (SELECT b.org_id FROM webhook_backlog b WHERE b.org_id > o.org_id ORDER BY b.org_id LIMIT 1)
      FROM orgs o WHERE o.org_id IS NOT NULL
    ), picked AS MATERIALIZED (
      SELECT b.org_id, b.id FROM orgs o CROSS JOIN LATERAL (
        SELECT b.org_id, b.id, row_number() OVER (ORDER BY b.id) AS place
        FROM webhook_backlog b WHERE b.org_id = o.org_id ORDER BY b.id
        LIMIT greatest(${each}::int, ${most}::int / 2 / greatest(1, (SELECT count(org_id) FROM orgs)))
      ) AS b
      -- Of each organization its oldest, without a gap.
      ORDER BY b.place, random() LIMIT ${most}::int
    )
    DELETE FROM webhook_backlog b USING picked p WHERE b.org_id = p.org_id AND b.id = p.id
    RETURNING b.id AS position, b.event_id AS id, b.org_id AS "orgId", b.type, b.occurred_at AS "occurredAt", b.body`);
  return taken.sort((a, b) => a.position - b.position);
}

/** Those of these organizations of whom events are put aside. */
export async function backlogged(tx: Tx, orgIds: readonly string[]): Promise<Set<string>> {
  const rows = await tx.query<{ org_id: string }>(sql`
    SELECT org_id FROM unnest(${[...orgIds]}::uuid[]) AS o (org_id)
    WHERE EXISTS (SELECT FROM webhook_backlog b WHERE b.org_id = o.org_id)`);
  return new Set(rows.map((row) => row.org_id));
}
