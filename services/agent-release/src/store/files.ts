import { sql, type Tx } from "@muster/db";

/**
 * Blocks removals from the store while a release is being registered, until the end of the transaction: registrations
 * hold the lock shared, removals exclusively.
 */
export async function lockFiles(tx: Tx, { remove }: { remove: boolean }): Promise<void> {
  await tx.execute(
    remove ? sql`SELECT pg_advisory_xact_lock(5002, 0)` : sql`SELECT pg_advisory_xact_lock_shared(5002, 0)`,
  );
}

/** Those of these digests of which no release has a file. */
export async function unusedFiles(tx: Tx, sha256: readonly string[]): Promise<string[]> {
  const rows = await tx.query<{ sha256: string }>(sql`
    SELECT DISTINCT given AS sha256 FROM unnest(${[...sha256]}::text[]) AS given
    WHERE NOT EXISTS (SELECT FROM artifact WHERE artifact.sha256 = given)`);
  return rows.map((row) => row.sha256);
}
