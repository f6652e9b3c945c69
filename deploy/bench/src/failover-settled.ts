import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import type { Receiver } from "./webhooks-cluster.ts";

export const settleMs = 90_000;

/** What was acknowledged: sites, and events of an organization whose webhook leads to that port. */
export type Written = {
  sites: readonly { id: string }[];
  events: readonly { id: string; port: number }[];
};

export type Counted = Awaited<ReturnType<typeof settled>>;

/** The columns of a table about it. */
export const countedColumns = ({ missing, doubled, broken, undelivered, silent }: Counted) => ({
  missing,
  "missing or doubled audit": doubled,
  "broken chains": broken,
  "events lost": undelivered,
  "silent repeats": silent,
});

/** How much is wrong in all. */
export const failuresIn = (counted: Counted) => Object.values(counted).reduce((sum, count) => sum + count, 0);

/** The faults that remain after the time to settle; returns earlier when there are none. */
export async function settled(load: Written, { databaseUrl, receiver }: { databaseUrl: string; receiver: Receiver }) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const ids = load.sites.map(({ id }) => id);
    const endsMs = performance.now() + settleMs;
    for (;;) {
      const { rows: found } = await client.query<{ id: string; n: number }>(
        `SELECT s.id, count(l.id)::int AS n FROM tenancy.sites s
         LEFT JOIN audit.audit_log l ON l.resource_id = s.id AND l.action = 'site.create'
         WHERE s.id = ANY($1::uuid[]) GROUP BY s.id`,
        [ids],
      );
      const { rows: broken } = await client.query(
        `SELECT h.chain_id FROM audit.chain_head h LEFT JOIN audit.audit_log l USING (chain_id)
         GROUP BY h.chain_id, h.seq
         HAVING count(l.seq) <> h.seq OR coalesce(min(l.seq), 1) <> 1 OR coalesce(max(l.seq), 0) <> h.seq`,
      );
      const arrived = await receiver.arrivals();
      const counted = {
        missing: ids.length - found.length,
        doubled: found.filter(({ n }) => n !== 1).length,
        broken: broken.length,
        undelivered: load.events.filter(({ port, id }) => !arrived.has(`${port} ${id}`)).length,
        silent: (await receiver.counts()).silentRepeats,
      };
      const open = counted.missing + counted.doubled + counted.broken + counted.undelivered;
      if (open === 0 || performance.now() > endsMs) return counted;
      await delay(250);
    }
  } finally {
    await client.end();
  }
}
