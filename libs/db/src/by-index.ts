import { sql } from "./statement.ts";
import type { Tx } from "./transaction.ts";

/**
 * For this transaction tables are read by their indexes. The planner takes a condition of row-level security for one
 * that hardly a row meets and would sort all there is; and a plan that was made while the table was empty, which a
 * queue mostly is, would read all of it.
 */
export function byIndexAlone(tx: Tx): Promise<number> {
  return tx.execute(
    sql`SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)`,
  );
}
