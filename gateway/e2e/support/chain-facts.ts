import pg from "pg";
import type { Cluster } from "./cluster.ts";

export type ChainFacts = {
  /** Ids of partners. */
  partners: string[];
  /** partner.create rows by partner. */
  created: Map<string, number>;
  /** Chains whose rows are not exactly seq 1..n, or whose head differs. */
  broken: string[];
};

/** What the database holds, read as its owner, without row-level security and services. */
export function chainFacts(cluster: Cluster): Promise<ChainFacts> {
  return asOwner(cluster, async (client) => {
    const partners = await client.query<{ id: string }>("SELECT id FROM tenancy.partners");
    const created = await client.query<{ resource_id: string; n: number }>(
      "SELECT resource_id, count(*)::int AS n FROM audit.audit_log WHERE action = 'partner.create' GROUP BY resource_id",
    );
    const broken = await client.query<{ chain_id: string }>(
      `SELECT h.chain_id FROM audit.chain_head h LEFT JOIN audit.audit_log l USING (chain_id)
       GROUP BY h.chain_id, h.seq
       HAVING count(l.seq) <> h.seq OR coalesce(min(l.seq), 1) <> 1 OR coalesce(max(l.seq), 0) <> h.seq`,
    );
    return {
      partners: partners.rows.map((r) => r.id),
      created: new Map(created.rows.map((r) => [r.resource_id, r.n])),
      broken: broken.rows.map((r) => r.chain_id),
    };
  });
}

/** How many messages of tenancy no stream has acknowledged yet. */
export function unpublished(cluster: Cluster): Promise<number> {
  return asOwner(cluster, async (client) => {
    const { rows } = await client.query<{ n: number }>(
      "SELECT count(*)::int AS n FROM tenancy.outbox WHERE published_at IS NULL",
    );
    return rows[0]?.n ?? 0;
  });
}

async function asOwner<T>(cluster: Cluster, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: (await cluster.stack()).databaseUrl });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
