import type { ServerResponse } from "node:http";
import { gauge } from "@muster/kit";
import { EdgeError, overloaded } from "../errors.ts";

export type DirectorySlots = {
  /**
   * Null when a request of this directory may start now, else a promise that resolves when it starts. Rejects with
   * AppError `overloaded` after ten seconds, and with EdgeError `bad_request` when the client disconnects before.
   */
  enter(directoryId: string, response: Pick<ServerResponse, "once" | "off">): Promise<void> | null;
  /** Ends a request that has started. */
  leave(directoryId: string): void;
};

const waitMs = 10_000;
/** Seconds after which clients repeat what waited in vain: spread, since they came together. */
const retrySeconds = { least: 5, spread: 10 };

type Waiting = { start(): void };
type Line = { running: number; waiting: Waiting[] };

const waitingGauge = gauge(
  "muster_gateway_directory_waiting_requests",
  "Requests of directories that wait for earlier ones of the same directory.",
);

/**
 * Serves a few requests of each directory concurrently, in the order of their arrival: a first cycle of many thousand
 * requests takes its time, and others hardly notice it.
 */
export function createDirectorySlots(concurrency: number): DirectorySlots {
  const lines = new Map<string, Line>();
  let waiting = 0;
  const count = (change: 1 | -1) => {
    waiting += change;
    waitingGauge.set(waiting);
  };

  return {
    enter(directoryId, response) {
      const line = lines.get(directoryId) ?? { running: 0, waiting: [] };
      lines.set(directoryId, line);
      if (line.running < concurrency) {
        line.running += 1;
        return null;
      }
      return new Promise((resolve, reject) => {
        const end = () => {
          clearTimeout(timer);
          response.off("close", aborted);
          count(-1);
        };
        const withdraw = (error: Error) => {
          line.waiting.splice(line.waiting.indexOf(job), 1);
          end();
          reject(error);
        };
        const job: Waiting = {
          start() {
            end();
            resolve();
          },
        };
        const aborted = () => withdraw(new EdgeError("bad_request", "Request was aborted"));
        const inVain = () => {
          const seconds = retrySeconds.least + Math.random() * retrySeconds.spread;
          withdraw(overloaded(Math.ceil(seconds)));
        };
        const timer = setTimeout(inVain, waitMs).unref();
        response.once("close", aborted);
        line.waiting.push(job);
        count(1);
      });
    },
    leave(directoryId) {
      const line = lines.get(directoryId);
      if (line === undefined) return;
      const next = line.waiting.shift();
      // Its slot goes to the next one.
      if (next !== undefined) next.start();
      else if (--line.running === 0) lines.delete(directoryId);
    },
  };
}
