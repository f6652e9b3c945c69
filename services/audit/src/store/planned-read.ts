import { type Database, type Query, sql, type Tx, type Who } from "@muster/db";

// Custom plans: a generic one uses neither the chain nor the small limit.
const quiet = sql`SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true),
  set_config('max_parallel_workers_per_gather', '0', true)`;
const inOrder = sql`SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true),
  set_config('max_parallel_workers_per_gather', '0', true), set_config('enable_sort', 'off', true),
  set_config('enable_bitmapscan', 'off', true)`;

/**
 * The rows of a statement that wants the newest few of many. The planner cannot estimate how many rows pass row-level
 * security, so that by default it uses JIT, starts workers, or reads and sorts all rows; here it walks an ordered
 * index.
 */
export function readNewest<R>(db: Database, who: Who, statement: Query): Promise<R[]> {
  return planned(db, who, inOrder, statement);
}

/** Applies these planner settings to every later statement of a transaction. */
export function walkIndexes(tx: Tx): Promise<unknown> {
  return tx.execute(inOrder);
}

/** The rows of a statement that reads many: with a custom plan, without JIT and parallel workers. */
export function readMany<R>(db: Database, who: Who, statement: Query): Promise<R[]> {
  return planned(db, who, quiet, statement);
}

async function planned<R>(db: Database, who: Who, settings: Query, statement: Query): Promise<R[]> {
  // Nothing is awaited inside, so that all statements are pipelined; COMMIT reports a failure.
  const reported = <T>(promise: Promise<T>): Promise<T> => {
    promise.catch(() => undefined);
    return promise;
  };
  const { rows } = await db.tx(
    who,
    async (t) => {
      void reported(t.execute(settings));
      return { rows: reported(t.query<R>(statement)) };
    },
    { readOnly: true },
  );
  return rows;
}
