import type { ServerResponse } from "node:http";
import { clientNetwork, counter, createRoundRobin, gauge } from "@muster/kit";
import { EdgeError, overloaded } from "../errors.ts";

export type SignInQueueOptions = {
  /** Requests started per second, evenly spaced. */
  perSecond: number;
  /** Requests that may be queued, of which one address holds a fair share (docs/concepts.md#fair-share). */
  queuedMax: number;
};

export type SignInQueue = {
  /**
   * Null when the request may start now, else a promise that resolves when it starts. Throws AppError `overloaded` when
   * too many are queued; rejects with EdgeError `bad_request` when the client disconnects before.
   */
  enter(clientAddress: string | null, response: Pick<ServerResponse, "once" | "off">): Promise<void> | null;
};

type Job = { start(): void };

const queuedGauge = gauge("muster_gateway_login_queue_requests", "Queued sign-ins and similar requests.");
const refused = counter(
  "muster_gateway_login_queue_rejected_total",
  "Sign-ins and similar requests refused because too many were queued.",
);

/**
 * Starts requests one by one with a pause in between, in which the event loop serves other requests. Queued requests
 * start round-robin by address (IPv6: by /64)
 * (docs/decisions/0016-sign-ins-start-one-by-one-and-hash-in-a-child-process.md).
 */
export function createSignInQueue({ perSecond, queuedMax }: SignInQueueOptions): SignInQueue {
  const everyMs = 1_000 / perSecond;
  const queues = createRoundRobin<Job>();
  let nextMs = Number.NEGATIVE_INFINITY;
  let scheduled = false;

  // Never two in one tick of the event loop, however late it is.
  const startNext = () => {
    scheduled = false;
    const job = queues.next();
    queuedGauge.set(queues.size);
    if (job === undefined) return;
    nextMs = performance.now() + everyMs;
    if (queues.size > 0) schedule(everyMs);
    job.start();
  };

  const schedule = (afterMs: number) => {
    if (scheduled) return;
    scheduled = true;
    setTimeout(startNext, afterMs);
  };

  // Spread over twice the wait: clients that were refused together must not return together.
  const full = () => {
    refused.inc();
    const spreadSeconds = (1 + Math.random()) * Math.max(1, queues.size / perSecond);
    return overloaded(Math.min(30, Math.ceil(spreadSeconds)));
  };

  return {
    enter(clientAddress, response) {
      const nowMs = performance.now();
      if (queues.size === 0 && nowMs >= nextMs) {
        nextMs = nowMs + everyMs;
        return null;
      }
      const network = clientNetwork(clientAddress);
      // Its fair share, half of the free positions: addresses that fill theirs leave room for further ones.
      if (queues.lengthOf(network) >= queuedMax - queues.size) throw full();
      return new Promise((resolve, reject) => {
        const abort = () => {
          if (!queues.remove(network, job)) return;
          queuedGauge.set(queues.size);
          reject(new EdgeError("bad_request", "Request was aborted"));
        };
        const job: Job = {
          start() {
            response.off("close", abort);
            resolve();
          },
        };
        queues.add(network, job);
        queuedGauge.set(queues.size);
        response.once("close", abort);
        schedule(nextMs - nowMs);
      });
    },
  };
}
