import type { ServerResponse } from "node:http";
import { AppError, counter, createLanes, gauge } from "@muster/kit";
import { EdgeError } from "../errors.ts";

export type PacingOptions = {
  /** Begun a second, one at a time. */
  perSecond: number;
  /** May wait, half of them from one address. */
  waitingMax: number;
};

export type Pacer = {
  /**
   * Null when this request may go on now, else a promise of its turn. Throws AppError `overloaded` when too many wait; rejects with
   * EdgeError `bad_request` when the client leaves before.
   */
  turn(address: string, response: ServerResponse): Promise<void> | null;
};

type Job = { begin(): void };

const waiting = gauge("gateway_paced_waiting", "Sign-ins and the like that wait to be begun.");
const refused = counter("gateway_paced_refused_total", "Sign-ins and the like that were refused because too many waited.");

/**
 * Begins requests one after the other with a pause between them, in which the event loop serves whatever else has come; those that wait
 * take turns by address (docs/decisions/0060-sign-ins-are-begun-one-by-one.md).
 */
export function createPacer({ perSecond, waitingMax }: PacingOptions): Pacer {
  const everyMs = 1_000 / perSecond;
  const perAddress = Math.ceil(waitingMax / 2);
  const lanes = createLanes<Job>();
  let nextMs = Number.NEGATIVE_INFINITY;

  const begin = () => {
    lanes.next()?.begin();
    waiting.set(lanes.size);
    nextMs = performance.now() + everyMs;
    if (lanes.size > 0) setTimeout(begin, everyMs);
  };

  const full = () => {
    refused.inc();
    // Spread over twice the wait: clients that were refused together must not come back together.
    const waitSeconds = lanes.size / perSecond;
    const retryAfterSeconds = Math.min(30, Math.ceil((1 + Math.random()) * Math.max(1, waitSeconds)));
    return new AppError("overloaded", "Service is overloaded", { retryAfterSeconds });
  };

  return {
    turn(address, response) {
      const nowMs = performance.now();
      if (lanes.size === 0 && nowMs >= nextMs) {
        nextMs = nowMs + everyMs;
        return null;
      }
      if (lanes.size >= waitingMax || lanes.waitingIn(address) >= perAddress) throw full();
      return new Promise((resolve, reject) => {
        const leave = () => {
          if (lanes.remove(address, job)) reject(new EdgeError("bad_request", "Request was cut off"));
        };
        const job: Job = {
          begin() {
            response.off("close", leave);
            resolve();
          },
        };
        lanes.add(address, job);
        response.once("close", leave);
        if (lanes.size === 1) setTimeout(begin, nextMs - nowMs);
      });
    },
  };
}
