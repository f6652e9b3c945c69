import { systemCaller, uuidv7 } from "@muster/kit";
import type { Database } from "../client/database.ts";
import { type Query, sql } from "../client/statement.ts";
import type { Tx } from "../client/transaction.ts";

export type JobState = "queued" | "running" | "done" | "failed";

export type Job = {
  id: string;
  kind: string;
  state: JobState;
  input: unknown;
  /** Position at which the work continues; null before the first progress. */
  cursor: unknown;
  result: unknown;
  error: string | null;
  /** How often it was claimed: a holder whose number is no longer this one has lost the job. */
  attempts: number;
  createdAt: Date;
  finishedAt: Date | null;
};

export type OfferedJob = {
  kind: string;
  id: string;
  input: unknown;
  /** Owner of the job (column `lane`): owners are served round-robin. */
  owner: string;
  /** What it does, for one that does the same. */
  openKey: string;
  /** Keys to wait under (column `place`); each has one job. */
  waitingKeys: readonly string[];
};

const columns = sql`id, kind, state, input, cursor, result, error, attempts, created_at as "createdAt",
                    finished_at as "finishedAt"`;
const defaultStaleMs = 30_000;
/** A verification or synchronization is shown for as long after its end. */
const keptDays = 30;
const chunkRows = 1_000;

/** Long, resumable work as rows, for system callers only. */
export function jobs(db: Database) {
  return new JobTable(db);
}

class JobTable {
  readonly #db: Database;
  readonly #who;

  constructor(db: Database) {
    this.#db = db;
    this.#who = { caller: systemCaller(db.name) };
  }

  #inTx<T>(t: Tx | undefined, fn: (t: Tx) => Promise<T>) {
    return t ? fn(t) : this.#db.tx(this.#who, fn);
  }

  #change(job: Pick<Job, "id" | "attempts">, assignment: Query, t?: Tx) {
    return this.#inTx(t, async (held) => {
      const rows = await held.execute(sql`
        update job set ${assignment} where id = ${job.id} and attempts = ${job.attempts} and state = 'running'`);
      if (rows !== 1) throw new Error(`job ${job.id} was taken over or has ended`);
    });
  }

  /**
   * Adds a job, in transaction `t` when given (a system's, or one that a policy lets queue it); resolves to its id.
   */
  readonly enqueue = async (
    { kind, input = {}, id = uuidv7() }: { kind: string; input?: unknown; id?: string },
    t?: Tx,
  ): Promise<string> => {
    await this.#inTx(t, (held) =>
      held.execute(sql`insert into job (id, kind, input) values (${id}, ${kind}, ${JSON.stringify(input)}::jsonb)`),
    );
    return id;
  };

  /**
   * As enqueue, unless a job of its kind is open under `openKey` already, or another waits under each of
   * `waitingKeys`; resolves to whether it was added.
   */
  readonly offer = async ({ kind, input, id, owner, openKey, waitingKeys }: OfferedJob, t: Tx): Promise<boolean> => {
    for (const key of waitingKeys) {
      const added = await t.execute(sql`
          insert into job (id, kind, input, lane, place, open_key)
          values (${id}, ${kind}, ${JSON.stringify(input)}::jsonb, ${owner}, ${key}, ${openKey})
          on conflict do nothing`);
      if (added === 1) return true;
    }
    return false;
  };

  /** The job that is queued or running under this key. */
  readonly openUnder = async (kind: string, openKey: string): Promise<Job | null> => {
    const [job] = await this.#db.read<Job>(
      this.#who,
      sql`select ${columns} from job where kind = ${kind} and open_key = ${openKey} and state in ('queued', 'running')`,
    );
    return job ?? null;
  };

  /**
   * A job of these kinds that is queued, or whose holder has been silent for `staleMs`; now the caller's. The owner
   * that was served longest ago comes first, within it the job that was; without owners the oldest.
   */
  readonly claim = async ({
    kinds,
    staleMs = defaultStaleMs,
  }: {
    kinds: readonly string[];
    staleMs?: number;
  }): Promise<Job | null> => {
    const open = sql`
        kind = any(${kinds}::text[])
        and (state = 'queued'
             or (state = 'running' and heartbeat_at < clock_timestamp() - ${staleMs} * interval '1 millisecond'))`;
    // Mostly there is none, and then nothing is written.
    if ((await this.#db.read(this.#who, sql`select id from job where ${open} limit 1`)).length === 0) return null;
    const [job] = await this.#db.tx(this.#who, (t) =>
      t.query<Job>(sql`
          update job set state = 'running', attempts = attempts + 1, heartbeat_at = clock_timestamp(),
            claimed_at = clock_timestamp()
          where id = (
            select id from job
            where ${open}
            order by (select max(served.claimed_at) from job served
                      where served.kind = job.kind and served.lane = job.lane) nulls first,
              case when lane is not null then claimed_at end nulls first, created_at, id
            limit 1 for update skip locked)
          returning ${columns}`),
    );
    return job ?? null;
  };

  /**
   * Shows that the work goes on. This, `progress`, `finish` and `fail` throw when the job was taken over; `t` must be
   * a system's.
   */
  readonly heartbeat = (job: Job): Promise<void> => {
    return this.#change(job, sql`heartbeat_at = clock_timestamp()`);
  };

  /** Stores the position, preferably in the transaction `t` that did the work up to it. */
  readonly progress = (job: Job, cursor: unknown, t?: Tx): Promise<void> => {
    return this.#change(job, sql`heartbeat_at = clock_timestamp(), cursor = ${JSON.stringify(cursor)}::jsonb`, t);
  };

  /**
   * Stores the position and releases the job to the next claimant, if another of its kind waits; returns whether it
   * did.
   */
  readonly giveWay = async (job: Job, cursor: unknown): Promise<boolean> => {
    const released = await this.#db.tx(this.#who, (t) =>
      t.execute(sql`
          update job set heartbeat_at = '-infinity', cursor = ${JSON.stringify(cursor)}::jsonb
          where id = ${job.id} and attempts = ${job.attempts} and state = 'running' and exists (
            select from job other where other.kind = job.kind and other.id <> job.id
              and (other.state = 'queued' or (other.state = 'running' and other.heartbeat_at = '-infinity')))`),
    );
    return released === 1;
  };

  readonly finish = (job: Job, result: unknown = null, t?: Tx): Promise<void> => {
    return this.#change(job, sql`state = 'done', finished_at = now(), result = ${JSON.stringify(result)}::jsonb`, t);
  };

  readonly fail = (job: Job, error: string, t?: Tx): Promise<void> => {
    return this.#change(job, sql`state = 'failed', finished_at = now(), error = ${error.replaceAll("\0", " ")}`, t);
  };

  /** Removes jobs that ended more than 30 days ago, in chunks; returns their number. */
  readonly removeFinished = async (): Promise<number> => {
    for (let removed = 0; ; ) {
      const rows = await this.#db.tx(this.#who, (t) =>
        t.execute(sql`
            delete from job where id in (
              select id from job
              where state in ('done', 'failed') and finished_at < now() - ${keptDays} * interval '1 day'
              limit ${chunkRows} for update skip locked)`),
      );
      removed += rows;
      if (rows < chunkRows) return removed;
    }
  };

  readonly get = async (id: string): Promise<Job | null> => {
    const [job] = await this.#db.read<Job>(this.#who, sql`select ${columns} from job where id = ${id}`);
    return job ?? null;
  };
}
