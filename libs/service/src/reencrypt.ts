import { type Database, type Job, jobs, sql } from "@muster/db";
import { fieldsOf, type Logger, secretBox, sleep, systemCaller } from "@muster/kit";
import { z } from "zod";
import { type SealedColumn, sealedPage, sortEnvelopes, swapEnvelopes } from "./sealed-column.ts";

export type Reencrypted = { keyId: string; seen: number; resealed: number; passes: number };

export type ReencryptOptions = {
  /** As the owner of the schema: row-level security hides second factors from everyone but their user. */
  db: Database;
  keys: string;
  columns: readonly SealedColumn[];
  log: Logger;
  chunkRows?: number;
  /** Milliseconds for which a silent run of another process counts as alive. */
  staleMs?: number;
};

/** Position of a pass; stored with each chunk. What has changed or is unreadable is counted anew in each pass. */
const cursorShape = z.object({
  pass: z.number(),
  column: z.number(),
  after: z.array(z.string()).nullable(),
  seen: z.number(),
  changed: z.number(),
  unreadable: z.number(),
  resealed: z.number(),
});
type Cursor = z.infer<typeof cursorShape>;

const kind = "reencrypt";
const maxPasses = 50;
const reportEveryMs = 2_000;
const reportedRows = 20;
const firstPass: Cursor = { pass: 1, column: 0, after: null, seen: 0, changed: 0, unreadable: 0, resealed: 0 };

/**
 * Seals every envelope of these columns under the first key, while the service works. Goes on where an earlier run for
 * the same key was killed. Ends after a pass that met nothing to do: from then on the other keys are no longer needed.
 * Throws when secrets open with none of the keys (all others are done by then), or when others keep sealing under
 * another key.
 */
export async function reencrypt(options: ReencryptOptions): Promise<Reencrypted> {
  const { db, keys, columns, log, chunkRows = 200 } = options;
  const queue = jobs(db);
  const sealed = columns.map((column) => ({ column, box: secretBox(keys, column.purpose) }));
  const keyId = secretBox(keys, kind).keyId;
  const job = await takeJob(options, keyId);
  let at = cursorShape.nullable().parse(job.cursor) ?? firstPass;
  if (job.cursor) log.info({ keyId, pass: at.pass, seen: at.seen }, "going on where an earlier run ended");

  const pass = async () => {
    let reportedAtMs = performance.now();
    for (const { column, box } of sealed.slice(at.column)) {
      for (let more = true; more; ) {
        more = await db.tx(systemOf(db), async (tx) => {
          const page = await sealedPage(tx, column, at.after, chunkRows);
          const { stale, unreadable } = sortEnvelopes(column, box, page);
          for (const row of unreadable.slice(0, Math.max(0, reportedRows - at.unreadable))) {
            log.error({ table: column.table, key: row.key }, "secret opens with none of the keys");
          }
          const swapped = stale.length > 0 ? await swapEnvelopes(tx, column, stale) : 0;
          const next: Cursor = {
            ...at,
            after: page.at(-1)?.key ?? at.after,
            seen: at.seen + page.length,
            changed: at.changed + stale.length,
            unreadable: at.unreadable + unreadable.length,
            resealed: at.resealed + swapped,
          };
          await queue.progress(job, next, tx);
          at = next;
          return page.length === chunkRows;
        });
        if (performance.now() - reportedAtMs < reportEveryMs) continue;
        reportedAtMs = performance.now();
        log.info({ table: column.table, pass: at.pass, seen: at.seen, resealed: at.resealed }, "re-encrypting");
      }
      at = { ...at, column: at.column + 1, after: null };
    }
  };

  const giveUp = async (why: string): Promise<never> => {
    await queue.fail(job, why);
    throw new Error(why);
  };
  // When the database fails, the job stays as it is, and the next run continues it.
  for (;;) {
    await pass();
    // Nothing stale was met: neither left by us nor sealed meanwhile.
    if (at.changed === 0) break;
    if (at.pass >= maxPasses) await giveUp("other processes keep sealing under another key than the first one given");
    at = { ...firstPass, pass: at.pass + 1, resealed: at.resealed };
    await sleep(Math.min(50 * at.pass, 1_000));
  }
  if (at.unreadable > 0) await giveUp(`${at.unreadable} secrets open with none of the keys`);
  const result = { keyId, seen: at.seen, resealed: at.resealed, passes: at.pass };
  await queue.finish(job, result);
  return result;
}

/** The unfinished job for this key, once its holder is silent, or a new one. */
async function takeJob(options: ReencryptOptions, keyId: string): Promise<Job> {
  const { db, log, staleMs = 30_000 } = options;
  const queue = jobs(db);
  for (let isReported = false; ; ) {
    const job = await queue.claim({ kinds: [kind], staleMs });
    if (job && fieldsOf(job.input).keyId === keyId) return job;
    if (job) {
      await queue.fail(job, `given up for key ${keyId}`);
      continue;
    }
    const [other] = await db.read<{ id: string }>(
      systemOf(db),
      sql`SELECT id FROM job WHERE kind = ${kind} AND state = 'running' LIMIT 1`,
    );
    if (!other) {
      await queue.enqueue({ kind, input: { keyId } });
      continue;
    }
    if (!isReported) log.info({ job: other.id }, "another run is at work, or was killed just now: waiting for it");
    isReported = true;
    await sleep(Math.min(1_000, staleMs));
  }
}

const systemOf = (db: Database) => ({ caller: systemCaller(db.name) });
