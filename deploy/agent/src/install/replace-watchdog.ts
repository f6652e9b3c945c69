import { spawn } from "node:child_process";
import { join } from "node:path";
import { canonicalVersion, createStopping } from "@muster/agent";
import { linkTarget, readStored } from "../durable.ts";
import { holderOf } from "../folder-lock.ts";
import type { Logger } from "../logger.ts";
import { type Paths, programName } from "../paths.ts";
import { readUpdate, restoreVersion } from "./update-state.ts";

export type Replacing = {
  paths: Paths;
  log: Logger;
  /** Whether a service manager starts the watchdog again. */
  service: boolean;
  version: string;
  proofMs?: number;
};

const proofMsDefault = 60_000;
const pollMs = 200;

/**
 * Ends the watchdog, so that the one that is in place now starts, and waits until it says so. Returns false when it did
 * not: the one before is in place again then.
 */
export async function replaceWatchdog(options: Replacing): Promise<boolean> {
  const { paths, log, service, version, proofMs = proofMsDefault } = options;
  if (!isAlive(paths, version)) await exchange(paths, service);
  const { pause } = createStopping();
  const endsMs = performance.now() + proofMs;
  while (performance.now() < endsMs) {
    if (isAlive(paths, version)) return true;
    await pause(pollMs);
  }
  const update = readUpdate(paths);
  if (update) restoreVersion(paths, update, `the watchdog did not start within ${proofMs / 1000} s`);
  log("error", "updater", `watchdog ${version} does not work: the previous one is started`);
  await exchange(paths, service);
  return false;
}

/** Whether a watchdog of this version runs. */
function isAlive(paths: Paths, version: string): boolean {
  const alive = readStored<{ version: string; pid: number }>(paths.alive.watchdog);
  return alive?.version === canonicalVersion(version) && holderOf(paths.watchdogLock)?.pid === alive.pid;
}

/** Ends the running watchdog; without a service manager the one in place is started from here. */
async function exchange(paths: Paths, service: boolean): Promise<void> {
  const holder = holderOf(paths.watchdogLock);
  // It ends at once and leaves the agent running.
  if (holder) process.kill(holder.pid, "SIGUSR2");
  if (service || linkTarget(paths.links.watchdog.current) === null) return;
  const { pause } = createStopping();
  while (holderOf(paths.watchdogLock)) await pause(50);
  startWatchdog(paths);
}

/** Starts the watchdog that is in place, in a session of its own. */
export function startWatchdog(paths: Paths): void {
  const program = join(paths.links.watchdog.current, programName);
  const child = spawn(program, ["supervise"], { stdio: "ignore", detached: true, windowsHide: true });
  // One that does not start is restored like one that starts and says nothing.
  child.on("error", () => {});
  child.unref();
}
