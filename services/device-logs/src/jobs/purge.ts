import { type Database, type Job, jobs, sql, type Tx } from "@muster/db";
import { counter, type Logger, sleep, systemCaller } from "@muster/kit";
import type { PurgedTenant } from "@muster/service";
import { type PurgeCursor, purgeSlice } from "../store/purge.ts";

const kind = "purge";
const everyMs = 15_000;
/** Between two slices: whoever writes logs goes first. */
const pauseMs = 5;

const deletedRows = counter("muster_device_logs_purged_rows_total", "Rows deleted since their tenant was.");

/** Asks once for the deletion of what a tenant has here; its job bears the tenant's id, so that a repeat asks for nothing new. */
export async function askPurge(tx: Tx, tenant: PurgedTenant): Promise<void> {
  await tx.execute(sql`
    INSERT INTO job (id, kind, input) VALUES (${tenant.id}::uuid, ${kind}, ${JSON.stringify(tenant)}::jsonb)
    ON CONFLICT (id) DO NOTHING`);
}

type Deps = { db: Database; log: Logger };

/** Does what was asked for, one tenant after the other; how many were done. A purge that its process left unfinished goes on where it was. */
export async function purgeAll({ db, log }: Deps, signal?: AbortSignal, staleMs?: number): Promise<number> {
  const work = jobs(db);
  for (let done = 0; ; done++) {
    const job = signal?.aborted ? null : await work.claim({ kinds: [kind], ...(staleMs ? { staleMs } : {}) });
    if (!job) return done;
    const rows = await purge(db, job, signal);
    if (rows === null) return done;
    log.info({ ...(job.input as PurgedTenant), rows }, "data of a deleted tenant is gone");
  }
}

/** Rows deleted in all, null when it was left in the middle. */
async function purge(db: Database, job: Job, signal?: AbortSignal): Promise<number | null> {
  const work = jobs(db);
  let { at, rows } = (job.cursor ?? { at: null, rows: 0 }) as { at: PurgeCursor; rows: number };
  while (!signal?.aborted) {
    const slice = await db.tx({ caller: systemCaller("device-logs") }, async (tx) => {
      const next = await purgeSlice(tx, job.input as PurgedTenant, at);
      const state = { at: next.cursor, rows: rows + next.deleted };
      if (next.cursor === null) await work.finish(job, { rows: state.rows }, tx);
      else await work.progress(job, state, tx);
      return next;
    });
    deletedRows.inc(slice.deleted);
    rows += slice.deleted;
    at = slice.cursor;
    if (at === null) return rows;
    await sleep(pauseMs, signal);
  }
  return null;
}

/** Works through what was asked for until stopped. */
export function startPurges(deps: Deps): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      try {
        await purgeAll(deps, stopping.signal);
      } catch (err) {
        deps.log.warn({ err }, "data of deleted tenants cannot be deleted now");
      }
      await sleep(everyMs, stopping.signal);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
