import type { ServerResponse } from "node:http";
import { AppError, clientNetwork, counter, createRoundRobin, gauge } from "@muster/kit";
import { EdgeError } from "../errors.ts";

export type PacingOptions = {
  /** Requests started per second, one at a time. */
  perSecond: number;
  /** Requests that may wait; those of one address are at most half of what others leave. */
  waitingMax: number;
};

export type Pacer = {
  /**
   * Null when the request may start now, else a promise of its turn. Throws AppError `overloaded` when too many wait;
   * rejects with EdgeError `bad_request` when the client disconnects before.
   */
  turn(clientAddress: string | null, response: Pick<ServerResponse, "once" | "off">): Promise<void> | null;
};

type Job = { begin(): void };

const waiting = gauge("muster_gateway_login_queue_requests", "Queued sign-ins and similar requests.");
const refused = counter(
  "muster_gateway_login_queue_rejected_total",
  "Sign-ins and similar requests refused because too many were queued.",
);

/**
 * Starts requests one at a time with a pause in between, in which the event loop serves other requests. Queued requests
 * take turns by address (IPv6: by /64) (docs/decisions/0016-sign-ins-start-one-by-one-and-hash-in-a-child-process.md).
 */
export function createPacer({ perSecond, waitingMax }: PacingOptions): Pacer {
  const everyMs = 1_000 / perSecond;
  const lanes = createRoundRobin<Job>();
  let nextMs = Number.NEGATIVE_INFINITY;
  let scheduled = false;

  // Never two in one turn of the event loop, however late it is.
  const begin = () => {
    scheduled = false;
    const job = lanes.next();
    waiting.set(lanes.size);
    if (job === undefined) return;
    nextMs = performance.now() + everyMs;
    if (lanes.size > 0) schedule(everyMs);
    job.begin();
  };

  const schedule = (afterMs: number) => {
    if (scheduled) return;
    scheduled = true;
    setTimeout(begin, afterMs);
  };

  // Spread over twice the wait: clients that were refused together must not return together.
  const full = () => {
    refused.inc();
    const spreadSeconds = (1 + Math.random()) * Math.max(1, lanes.size / perSecond);
    return new AppError("overloaded", "Service is overloaded", {
      retryAfterSeconds: Math.min(30, Math.ceil(spreadSeconds)),
    });
  };

  return {
    turn(clientAddress, response) {
      const nowMs = performance.now();
      if (lanes.size === 0 && nowMs >= nextMs) {
        nextMs = nowMs + everyMs;
        return null;
      }
      const lane = clientNetwork(clientAddress);
      // Half of what others leave: addresses that fill theirs leave room for further ones.
      if (lanes.lengthOf(lane) >= waitingMax - lanes.size) throw full();
      return new Promise((resolve, reject) => {
        const leave = () => {
          if (!lanes.remove(lane, job)) return;
          waiting.set(lanes.size);
          reject(new EdgeError("bad_request", "Request was cut off"));
        };
        const job: Job = {
          begin() {
            response.off("close", leave);
            resolve();
          },
        };
        lanes.add(lane, job);
        waiting.set(lanes.size);
        response.once("close", leave);
        schedule(nextMs - nowMs);
      });
    },
  };
}
