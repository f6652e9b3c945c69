import pg from "pg";
import type { Cluster } from "./cluster.ts";

/**
 * Runs a statement as the database's owner: for what no route can bring about, such as the passing of time. Returns the
 * rows.
 */
export async function asDatabaseOwner(
  cluster: Cluster,
  text: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: (await cluster.stack()).databaseUrl });
  await client.connect();
  try {
    return (await client.query(text, values)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}
