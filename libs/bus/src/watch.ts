import { backoffMs, sleep } from "@muster/kit";
import type { Connection } from "./connection.ts";
import { describe } from "./errors.ts";

export type Watch = {
  /** Runs the task now, or once more when it is running. */
  now(): void;
  /** Resolves after the first run that succeeded, or when stopped. */
  first: Promise<void>;
  stop(): void;
};

/**
 * Runs a task at once, after every reconnect and every `everyMs`, never twice at a time; a failed run is repeated with
 * back-off up to 5 s, and `check()` reports it under its name meanwhile.
 */
export function startWatch(connection: Connection, name: string, everyMs: number, task: () => Promise<void>): Watch {
  const stopped = new AbortController();
  const signal = AbortSignal.any([stopped.signal, connection.closing]);
  let pause = new AbortController();
  let wanted = false;
  let settleFirst: () => void = () => {};
  const first = new Promise<void>((resolve) => {
    settleFirst = resolve;
  });
  signal.addEventListener("abort", settleFirst, { once: true });
  const now = () => {
    wanted = true;
    pause.abort();
  };

  const run = async () => {
    let failures = 0;
    while (!signal.aborted) {
      wanted = false;
      let delayMs = everyMs;
      try {
        await connection.whenConnected();
        if (signal.aborted) break;
        // No answer comes to a request that was in flight when the connection broke: no waiting for its time-out.
        await connection.untilLost(task());
        failures = 0;
        connection.problems.delete(name);
        settleFirst();
      } catch (error) {
        if (signal.aborted) break;
        delayMs = Math.round(backoffMs(failures++, 100, 5_000));
        connection.problems.set(name, `${name}: ${describe(error)}`);
        connection.log.warn({ part: name, reason: describe(error), delayMs }, "NATS operation failed, trying again");
      }
      pause = new AbortController();
      if (!wanted) await sleep(delayMs, AbortSignal.any([pause.signal, signal]));
    }
    connection.problems.delete(name);
    offReconnect();
  };
  const offReconnect = connection.onReconnect(now);
  void run();
  return { now, first, stop: () => stopped.abort() };
}
