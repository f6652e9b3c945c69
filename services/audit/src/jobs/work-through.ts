import { type Database, type Job, jobs } from "@muster/db";
import { sleep } from "@muster/kit";

/** Times in milliseconds: between polls for jobs, and until a silent holder has lost its job. */
export type WorkTimes = { pollMs?: number; staleMs?: number };

export type Worker = {
  /** Looks for a job at once. */
  wake(): void;
  /** Aborts the signal of the job that runs, and waits for it. */
  stop(): Promise<void>;
};

/**
 * Works through the jobs of a kind, one at a time in this process. A job whose process died continues in another, after
 * at most 30 s. Tenants are served round-robin. What fails is told to `onFailure`, and tried again when it is stale.
 */
export function workThrough(
  { db, pollMs = 5_000, staleMs = 25_000 }: WorkTimes & { db: Database },
  kind: string,
  run: (job: Job, signal: AbortSignal) => Promise<void>,
  onFailure: (err: unknown, job: Job | null) => void,
): Worker {
  const work = jobs(db);
  const stopping = new AbortController();
  let pause = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      let job: Job | null = null;
      try {
        job = await work.claim({ kinds: [kind], staleMs });
        if (job) await run(job, stopping.signal);
      } catch (err) {
        onFailure(err, job);
        await sleep(pollMs, stopping.signal);
      }
      if (job || stopping.signal.aborted) continue;
      pause = new AbortController();
      await sleep(pollMs, pause.signal);
    }
  })();
  return {
    wake: () => pause.abort(),
    async stop() {
      stopping.abort();
      pause.abort();
      await running;
    },
  };
}
