import { systemCaller, uuidv7 } from "@muster/kit";
import type { Database } from "./database.ts";
import { type Query, sql } from "./statement.ts";
import type { Tx } from "./transaction.ts";

export type JobState = "queued" | "running" | "done" | "failed";

export type Job = {
  id: string;
  kind: string;
  state: JobState;
  input: unknown;
  /** Where the work goes on; null before the first progress. */
  cursor: unknown;
  result: unknown;
  error: string | null;
  /** How often it was claimed: a holder whose number is no longer this one has lost the job. */
  attempts: number;
  createdAt: Date;
  finishedAt: Date | null;
};

const columns = sql`id, kind, state, input, cursor, result, error, attempts, created_at as "createdAt",
                    finished_at as "finishedAt"`;
const defaultStaleMs = 30_000;

/** Long, resumable work as rows, for system callers only. */
export function jobs(db: Database) {
  const who = { caller: systemCaller(db.name) };
  const inTx = <T>(t: Tx | undefined, fn: (t: Tx) => Promise<T>) => (t ? fn(t) : db.tx(who, fn));
  const change = (job: Pick<Job, "id" | "attempts">, assignment: Query, t?: Tx) =>
    inTx(t, async (held) => {
      const rows = await held.execute(sql`
        update job set ${assignment} where id = ${job.id} and attempts = ${job.attempts} and state = 'running'`);
      if (rows !== 1) throw new Error(`job ${job.id} was taken over or has ended`);
    });

  return {
    /** Adds a job, in transaction `t` when given (a system's, or one that a policy lets queue it); resolves to its id. */
    async enqueue(
      { kind, input = {}, id = uuidv7() }: { kind: string; input?: unknown; id?: string },
      t?: Tx,
    ): Promise<string> {
      await inTx(t, (held) =>
        held.execute(sql`insert into job (id, kind, input) values (${id}, ${kind}, ${JSON.stringify(input)}::jsonb)`),
      );
      return id;
    },

    /** The oldest job of these kinds that is queued, or whose holder has been silent for `staleMs`; now the caller's. */
    async claim({
      kinds,
      staleMs = defaultStaleMs,
    }: {
      kinds: readonly string[];
      staleMs?: number;
    }): Promise<Job | null> {
      const next = sql`
        select id from job
        where kind = any(${kinds}::text[])
          and (state = 'queued'
               or (state = 'running' and heartbeat_at < clock_timestamp() - ${staleMs} * interval '1 millisecond'))
        order by created_at, id limit 1`;
      // Mostly there is none, and then nothing is written.
      if ((await db.read(who, next)).length === 0) return null;
      const [job] = await db.tx(who, (t) =>
        t.query<Job>(sql`
          update job set state = 'running', attempts = attempts + 1, heartbeat_at = clock_timestamp()
          where id = (${next} for update skip locked)
          returning ${columns}`),
      );
      return job ?? null;
    },

    /** Shows that the work goes on. This and the next three throw when the job was taken over; `t` must be a system's. */
    heartbeat: (job: Job): Promise<void> => change(job, sql`heartbeat_at = clock_timestamp()`),

    /** Stores where to go on, best in the transaction `t` that did the work up to there. */
    progress: (job: Job, cursor: unknown, t?: Tx): Promise<void> =>
      change(job, sql`heartbeat_at = clock_timestamp(), cursor = ${JSON.stringify(cursor)}::jsonb`, t),

    finish: (job: Job, result: unknown = null, t?: Tx): Promise<void> =>
      change(job, sql`state = 'done', finished_at = now(), result = ${JSON.stringify(result)}::jsonb`, t),

    fail: (job: Job, error: string, t?: Tx): Promise<void> =>
      change(job, sql`state = 'failed', finished_at = now(), error = ${error.replaceAll("\0", " ")}`, t),

    async get(id: string): Promise<Job | null> {
      const [job] = await db.read<Job>(who, sql`select ${columns} from job where id = ${id}`);
      return job ?? null;
    },
  };
}
