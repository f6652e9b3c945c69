import { sleep } from "@muster/kit/light";
import type { Guard } from "./guard.ts";

/** One run of a process: `ended` settles with the reason when the process ends. */
export type Run = { pid: number; ended: Promise<string>; stop(graceMs: number): Promise<void> };

export type SupervisedProcess = {
  /** Settles with the first run, or rejects with the error of the first attempt. */
  first: Promise<Run>;
  pid(): number | null;
  /** Ends the process and stays ended. */
  stop(graceMs: number): Promise<void>;
  /** The process that ends this one when the supervisor is killed; services do so by themselves. */
  guardPid?: number;
};

/** A supervised process once it runs for the first time; when that fails it is stopped and the error thrown. */
export async function started(supervised: SupervisedProcess): Promise<SupervisedProcess> {
  try {
    await supervised.first;
  } catch (error) {
    await supervised.stop(0);
    throw error;
  }
  return supervised;
}

/** A supervised process with a guard, which `stop` ends after the process. */
export function guarded(supervised: SupervisedProcess, guard: Guard): SupervisedProcess {
  const stop = async (graceMs: number) => {
    await supervised.stop(graceMs);
    guard.stop();
  };
  return { ...supervised, stop, guardPid: guard.pid };
}

const firstWaitMs = 200;
export const longestWaitMs = 10_000;
const steadyMs = 30_000;

/** Milliseconds before restart n (from 0): 0.2 s, doubling up to 10 s or the given limit. */
export function restartWaitMs(attempt: number, atMostMs = longestWaitMs): number {
  return Math.min(firstWaitMs * 2 ** Math.min(attempt, 20), atMostMs);
}

/**
 * Starts a process and restarts it whenever it ends, with growing delays while it keeps failing; a run of 30 s resets
 * the delay. Reports each restart with its reason.
 */
export function keepRunning(options: {
  name: string;
  start: () => Promise<Run>;
  changed: () => void;
  say: (line: string) => void;
  /** Milliseconds that a restart waits at most. */
  longestWaitMs?: number | undefined;
}): SupervisedProcess {
  const { name, say } = options;
  const stopping = new AbortController();
  let current: Run | null = null;
  let lastGraceMs = 0;
  let settle: { resolve: (run: Run) => void; reject: (error: unknown) => void } | null = null;
  const first = new Promise<Run>((resolve, reject) => {
    settle = { resolve, reject };
  });
  first.catch(() => undefined);

  const once = async (): Promise<string> => {
    let run: Run;
    try {
      run = await options.start();
    } catch (error) {
      settle?.reject(error);
      return error instanceof Error ? error.message : String(error);
    }
    current = run;
    if (stopping.signal.aborted) void run.stop(lastGraceMs);
    options.changed();
    settle?.resolve(run);
    settle = null;
    const reason = await run.ended;
    current = null;
    return reason;
  };

  const loop = async () => {
    for (let failures = 0; !stopping.signal.aborted; failures += 1) {
      const began = performance.now();
      const reason = await once();
      // A caller that awaits the first run gets its failure before the next attempt and may stop it.
      await new Promise(setImmediate);
      if (stopping.signal.aborted) return;
      if (performance.now() - began > steadyMs) failures = 0;
      const waitMs = restartWaitMs(failures, options.longestWaitMs);
      say(`${name} ended: ${reason.split("\n")[0]}; starting it again in ${waitMs / 1000} s`);
      await sleep(waitMs, stopping.signal);
    }
  };
  const looping = loop();

  return {
    first,
    pid: () => current?.pid ?? null,
    async stop(graceMs) {
      lastGraceMs = graceMs;
      stopping.abort();
      await current?.stop(graceMs);
      await looping;
    },
  };
}
