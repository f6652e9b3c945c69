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
   * Runs work when a slot is free. Throws `overloaded` when the queue, or the fair share of it that one
   * address may fill, is full, or when the estimated wait exceeds the deadline; `deadline_exceeded` when the caller
   * disconnects before.
   */
  run<T>(work: () => Promise<T>, waiting?: Waiting): Promise<T>;
};

type Job = { start(): void };

/** Weight of the newest duration in the average that wait estimates use. */
const newest = 0.2;

/**
 * Runs a few at a time; queued ones are started round-robin by client address (IPv6: by /64), so that a flood from one
 * address does not block other sign-ins. `expectedMs` is the estimated duration until the first one was measured.
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
  const queues = createRoundRobin<Job>();
  let running = 0;
  let averageMs = expectedMs;

  const waitMs = (ahead: number) => ((ahead + running) * averageMs) / concurrency;
  const updateGauges = () => {
    queuedChecks.set(running + queues.size);
    queueWait.set(waitMs(queues.size) / 1_000);
  };
  // Spread over twice the wait: clients that were refused together must not return together.
  const full = () =>
    new AppError("overloaded", "Too many sign-ins at once", {
      retryAfterSeconds: Math.min(30, Math.ceil((1 + Math.random()) * Math.max(2, waitMs(queues.size) / 1_000))),
    });
  const queueOf = (waiting: Waiting | undefined) => clientNetwork(waiting?.meta.clientAddress ?? null);

  const requireRoom = (waiting: Waiting | undefined) => {
    if (running < concurrency) return;
    const queue = queueOf(waiting);
    const deadlineMs = waiting?.deadlineMs ?? null;
    // By the wait of its own address: the backlog of another one is no reason to refuse it.
    const late = deadlineMs !== null && performance.now() + waitMs(queues.ahead(queue)) + averageMs > deadlineMs;
    // Fair share (docs/concepts.md#fair-share): addresses that fill theirs leave room for further ones.
    if (queues.lengthOf(queue) >= queueMax - queues.size || late) throw full();
  };

  const queued = (waiting: Waiting | undefined): Promise<void> => {
    const queue = queueOf(waiting);
    const signal = waiting?.signal;
    return new Promise((resolve, reject) => {
      const leave = () => {
        if (!queues.remove(queue, job)) return;
        updateGauges();
        reject(new AppError("deadline_exceeded", "The request took too long"));
      };
      const job: Job = {
        start() {
          signal?.removeEventListener("abort", leave);
          resolve();
        },
      };
      queues.add(queue, job);
      if (signal?.aborted) leave();
      else signal?.addEventListener("abort", leave, { once: true });
    });
  };

  return {
    async run(work, waiting) {
      requireRoom(waiting);
      if (running < concurrency) running += 1;
      else await queued(waiting);
      updateGauges();
      const startedMs = performance.now();
      try {
        const result = await work();
        // Refused work is not measured: it ends early, and the wait estimate would be too short.
        const tookMs = performance.now() - startedMs;
        averageMs = averageMs === 0 ? tookMs : averageMs * (1 - newest) + tookMs * newest;
        return result;
      } finally {
        const job = queues.next();
        if (job) job.start();
        else running -= 1;
        updateGauges();
      }
    },
  };
}
