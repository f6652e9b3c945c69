/** Jobs that wait, by lane: lanes take turns, so that a long one keeps no other waiting. */
export type Lanes<J> = {
  add(lane: string, job: J): void;
  /** Removes a cancelled job; false when its turn has come already. */
  remove(lane: string, job: J): boolean;
  /**
   * The job that waits longest in the next lane, or in the next that `may` have its turn; the lane then goes to the end
   * of the queue.
   */
  next(may?: (lane: string) => boolean): J | undefined;
  waitingIn(lane: string): number;
  /** How many jobs have their turn before one that is added to the lane now, when no further ones come. */
  ahead(lane: string): number;
  readonly size: number;
};

const always = () => true;

/** Lanes without a job take no memory; the caller limits the number of jobs. */
export function createLanes<J>(): Lanes<J> {
  const lanes = new Map<string, J[]>();
  let size = 0;
  return {
    add(lane, job) {
      const jobs = lanes.get(lane);
      if (jobs) jobs.push(job);
      else lanes.set(lane, [job]);
      size += 1;
    },
    remove(lane, job) {
      const jobs = lanes.get(lane);
      const at = jobs?.indexOf(job) ?? -1;
      if (jobs === undefined || at < 0) return false;
      jobs.splice(at, 1);
      if (jobs.length === 0) lanes.delete(lane);
      size -= 1;
      return true;
    },
    next(may = always) {
      for (const [lane, jobs] of lanes) {
        if (!may(lane)) continue;
        const job = jobs.shift();
        lanes.delete(lane);
        if (jobs.length > 0) lanes.set(lane, jobs);
        size -= 1;
        return job;
      }
      return undefined;
    },
    waitingIn: (lane) => lanes.get(lane)?.length ?? 0,
    ahead(lane) {
      const own = lanes.get(lane)?.length ?? 0;
      let ahead = own;
      let isBefore = true;
      for (const [other, jobs] of lanes) {
        if (other === lane) isBefore = false;
        // A lane whose turn comes first has one turn more; those of a new lane all do.
        else ahead += Math.min(jobs.length, isBefore ? own + 1 : own);
      }
      return ahead;
    },
    get size() {
      return size;
    },
  };
}
