/** Queued jobs of several owners, served round-robin: a long queue of one keeps no other waiting. */
export type RoundRobin<J> = {
  add(queue: string, job: J): void;
  /** Removes a cancelled job; false when it was served already. */
  remove(queue: string, job: J): boolean;
  /**
   * The oldest job of the next queue, or of the next that `may` be served; that queue is then the last one.
   */
  next(may?: (queue: string) => boolean): J | undefined;
  lengthOf(queue: string): number;
  /** How many jobs are served before one that is added to the queue now, when no further ones come. */
  ahead(queue: string): number;
  readonly size: number;
};

const always = () => true;

/** Queues without a job take no memory; the caller limits the number of jobs. */
export function createRoundRobin<J>(): RoundRobin<J> {
  const queues = new Map<string, J[]>();
  let size = 0;
  return {
    add(queue, job) {
      const jobs = queues.get(queue);
      if (jobs) jobs.push(job);
      else queues.set(queue, [job]);
      size += 1;
    },
    remove(queue, job) {
      const jobs = queues.get(queue);
      const at = jobs?.indexOf(job) ?? -1;
      if (jobs === undefined || at < 0) return false;
      jobs.splice(at, 1);
      if (jobs.length === 0) queues.delete(queue);
      size -= 1;
      return true;
    },
    next(may = always) {
      for (const [queue, jobs] of queues) {
        if (!may(queue)) continue;
        const job = jobs.shift();
        queues.delete(queue);
        if (jobs.length > 0) queues.set(queue, jobs);
        size -= 1;
        return job;
      }
      return undefined;
    },
    lengthOf: (queue) => queues.get(queue)?.length ?? 0,
    ahead(queue) {
      const own = queues.get(queue)?.length ?? 0;
      let ahead = own;
      let isBefore = true;
      for (const [other, jobs] of queues) {
        if (other === queue) isBefore = false;
        // A queue that is served first is served once more; all are before a new one.
        else ahead += Math.min(jobs.length, isBefore ? own + 1 : own);
      }
      return ahead;
    },
    get size() {
      return size;
    },
  };
}
