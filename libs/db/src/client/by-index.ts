import { sql } from "./statement.ts";
import type { Tx } from "./transaction.ts";

/**
 * Makes this transaction read tables by their indexes. The planner assumes that hardly any row meets a condition of
 * row-level security, and would sort all rows; a plan made while the table was empty, which a queue mostly is, would
 * read all of them.
 */
export function byIndexAlone(tx: Tx): Promise<number> {
  return tx.execute(
    sql`SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)`,
  );
}
