import { AppError, type CallContext, clientNetwork, createRoundRobin, gauge } from "@muster/kit";

const queuedChecks = gauge("muster_identity_password_queue_checks", "Password checks waiting or running");
const queueWait = gauge(
  "muster_identity_password_queue_wait_seconds",
  "Estimated wait of a new password check, in seconds",
);

/** The call that waits: until when, whether its caller is still there, and from where it came. */
export type Waiting = Pick<CallContext, "deadlineMs" | "signal"> & { meta: Pick<CallContext["meta"], "clientAddress"> };

export type HashingQueue = {
  /**
   * Runs work when its turn comes. Throws `overloaded` when the queue, or the half of what others leave that one
   * address may fill, is full, or when the turn would come past the deadline; `deadline_exceeded` when the caller
   * disconnects before.
   */
  run<T>(work: () => Promise<T>, waiting?: Waiting): Promise<T>;
};

type Job = { start(): void };

/** Weight of the newest duration in the average that wait estimates use. */
const newest = 0.2;

/**
 * Runs a few at a time; queued ones take turns by client address (IPv6: by /64), so that a flood from one address does
 * not block other sign-ins. `expectedMs` is the estimated duration until the first one was measured.
 */
export function hashingQueue({
  concurrency,
  queueMax,
  expectedMs = 0,
}: {
  concurrency: number;
  queueMax: number;
  expectedMs?: number;
}): HashingQueue {
  const lanes = createRoundRobin<Job>();
  let running = 0;
  let averageMs = expectedMs;

  const waitMs = (ahead: number) => ((ahead + running) * averageMs) / concurrency;
  const told = () => {
    queuedChecks.set(running + lanes.size);
    queueWait.set(waitMs(lanes.size) / 1_000);
  };
  // Spread over twice the wait: clients that were refused together must not return together.
  const full = () =>
    new AppError("overloaded", "Too many sign-ins at once", {
      retryAfterSeconds: Math.min(30, Math.ceil((1 + Math.random()) * Math.max(2, waitMs(lanes.size) / 1_000))),
    });
  const laneOf = (waiting: Waiting | undefined) => clientNetwork(waiting?.meta.clientAddress ?? null);

  const requireTurn = (waiting: Waiting | undefined) => {
    if (running < concurrency) return;
    const lane = laneOf(waiting);
    const deadlineMs = waiting?.deadlineMs ?? null;
    // By the turns of its own address: the backlog of another one is no reason to refuse it.
    const late = deadlineMs !== null && performance.now() + waitMs(lanes.ahead(lane)) + averageMs > deadlineMs;
    // Half of what others leave: addresses that fill theirs leave room for further ones.
    if (lanes.lengthOf(lane) >= queueMax - lanes.size || late) throw full();
  };

  const turn = (waiting: Waiting | undefined): Promise<void> => {
    const lane = laneOf(waiting);
    const signal = waiting?.signal;
    return new Promise((resolve, reject) => {
      const leave = () => {
        if (!lanes.remove(lane, job)) return;
        told();
        reject(new AppError("deadline_exceeded", "The request took too long"));
      };
      const job: Job = {
        start() {
          signal?.removeEventListener("abort", leave);
          resolve();
        },
      };
      lanes.add(lane, job);
      if (signal?.aborted) leave();
      else signal?.addEventListener("abort", leave, { once: true });
    });
  };

  return {
    async run(work, waiting) {
      requireTurn(waiting);
      if (running < concurrency) running += 1;
      else await turn(waiting);
      told();
      const startedMs = performance.now();
      try {
        const result = await work();
        // Refused work is not measured: it ends early, and the wait estimate would be too short.
        const tookMs = performance.now() - startedMs;
        averageMs = averageMs === 0 ? tookMs : averageMs * (1 - newest) + tookMs * newest;
        return result;
      } finally {
        const job = lanes.next();
        if (job) job.start();
        else running -= 1;
        told();
      }
    },
  };
}
