import { type Database, sql } from "@muster/db";
import type { CallContext } from "@muster/kit";
import { visibleTo } from "@muster/service";
import type { Buckets } from "../rules/delivery-filter.ts";

/** A busy webhook has millions: the newest are counted, and the reply states since when. */
const countedMost = 100_000;

export type DeliveryEnds = { delivered: number; failed: number; open: number };

/**
 * How the deliveries of a webhook ended, by the start of their bucket in milliseconds (index
 * webhook_deliveries_by_webhook); `countedFrom` is set when there are more than were counted.
 */
export async function countDeliveries(
  db: Database,
  who: CallContext,
  webhookId: string,
  { bucketMs, starts, to }: Buckets,
): Promise<{ counts: ReadonlyMap<number, DeliveryEnds>; countedFrom: Date | null }> {
  const from = starts[0] ?? to;
  const rows = await db.read<DeliveryEnds & { at: number; n: number; oldest: Date }>(
    who,
    sql`
      SELECT floor(extract(epoch FROM c.created_at) * 1000 / ${bucketMs}::bigint) * ${bucketMs}::bigint AS at,
             count(*)::int AS n, min(c.created_at) AS oldest,
             (count(*) FILTER (WHERE c.status = 'delivered'))::int AS delivered,
             (count(*) FILTER (WHERE c.status = 'failed'))::int AS failed,
             (count(*) FILTER (WHERE c.status IN ('pending', 'retrying')))::int AS open
      FROM (SELECT t.created_at, t.status FROM webhook_deliveries AS t
            WHERE t.webhook_id = ${webhookId} AND t.created_at >= ${from} AND ${visibleTo(who.caller)}
            ORDER BY t.created_at DESC, t.id DESC LIMIT ${countedMost}) AS c
      GROUP BY 1 ORDER BY 1`,
  );
  const counts = new Map(rows.map(({ at, delivered, failed, open }) => [Number(at), { delivered, failed, open }]));
  const isAll = rows.reduce((sum, { n }) => sum + n, 0) < countedMost;
  return { counts, countedFrom: isAll ? null : (rows[0]?.oldest ?? null) };
}
