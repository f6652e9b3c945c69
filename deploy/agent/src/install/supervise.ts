import { type ChildProcess, spawn } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { createStopping, type Stopping } from "@muster/agent";
import { version } from "../build-info.ts";
import { linkTarget, readStored, writeDurably } from "../durable.ts";
import { exitCodes } from "../exit-codes.ts";
import { holderOf, isRunning, type ProcessId, startOf, takeLock } from "../folder-lock.ts";
import type { Logger } from "../logger.ts";
import { type Paths, programName } from "../paths.ts";
import { isWhole } from "./release-folder.ts";
import { readUpdate, restoreVersion, swapVersions, type Update } from "./update-state.ts";

export type SuperviseOptions = {
  paths: Paths;
  log: Logger;
  /** Milliseconds in which a new version must have a heartbeat accepted. */
  proofMs?: number;
  /** Milliseconds that the wait before a restart grows to. */
  waitMaxMs?: number;
  stopping?: Stopping;
};

/** How a run of the agent ended: `code` null for a signal. */
type Ended = { code: number | null; ranMs: number } | "unproved" | "stopped";

const proofMsDefault = 60_000;
const exitsMax = 3;
const firstWaitMs = 1_000;
const waitMaxMsDefault = 300_000;
/** An agent that ran for so long begins again with the first wait. */
const steadyMs = 60_000;
const pollMs = 250;
const endMs = 10_000;

/**
 * The watchdog: keeps the agent of `current` running, and goes back to `previous` when a new version does not work.
 * Returns an exit code when it is stopped, or replaced by another version of itself.
 */
export async function supervise(options: SuperviseOptions): Promise<number> {
  const { paths, log, proofMs = proofMsDefault, waitMaxMs = waitMaxMsDefault, stopping = createStopping() } = options;
  takeLock(paths.watchdogLock, "A watchdog");
  writeDurably(paths.alive.watchdog, JSON.stringify({ version, pid: process.pid }));
  log("info", "watchdog", `watchdog ${version} started`);
  let exits = 0;
  let waitMs = firstWaitMs;
  while (!stopping.stopped) {
    const update = await settle(paths, log);
    const key = keyMark(paths);
    const agent = adopted(paths) ?? started(paths, log);
    const ended = await end(agent, { paths, stopping, deadlineMs: isProving(update) ? proofMs : null });
    if (ended === "stopped") {
      await stop(agent);
      break;
    }
    const now = readUpdate(paths);
    if (ended === "unproved") {
      await stop(agent);
      exits = 0;
      goBack(paths, log, `no heartbeat accepted within ${proofMs / 1000} s`);
      continue;
    }
    exits = isProving(now) && isProving(update) && ended.code !== exitCodes.restart ? exits + 1 : 0;
    if (exits >= exitsMax) {
      exits = 0;
      goBack(paths, log, `ended ${exitsMax} times (${ended.code ?? "killed"})`);
      continue;
    }
    waitMs = ended.code === exitCodes.restart || ended.ranMs > steadyMs ? firstWaitMs : Math.min(waitMaxMs, waitMs * 2);
    if (ended.code === exitCodes.restart) continue;
    log("warn", "watchdog", "the agent ended", { code: ended.code, ranMs: Math.round(ended.ranMs) });
    await waitForRestart(paths, { stopping, key, ms: isProving(now) ? firstWaitMs : waitMs });
  }
  log("info", "watchdog", "watchdog ended");
  return exitCodes.ok;
}

const isProving = (update: Update | null) => update?.component === "agent" && update.step === "proving";

/** Continues what a stored step says, and replaces a damaged version. Returns the update in progress. */
export async function settle(paths: Paths, log: Logger): Promise<Update | null> {
  let update = readUpdate(paths);
  if (update?.component === "agent") {
    if (update.step === "swapping") update = swapVersions(paths, update);
    if (update.step === "restoring") update = restoreVersion(paths, update, "interrupted");
  }
  const { current, previous } = paths.links.agent;
  if (await isWhole(current)) return update;
  const [damaged, good] = [linkTarget(current), linkTarget(previous)];
  if (good === null || good === damaged || !(await isWhole(previous))) {
    // Nothing better is there; it may start nevertheless.
    log("error", "watchdog", "the installed version is damaged", { version: damaged });
    return update;
  }
  log("error", "watchdog", "the installed version is damaged: the previous one is started", { version: damaged });
  const named = /^versions[\\/](.+)-[0-9a-f]{12}$/.exec(damaged ?? "")?.[1] ?? "0.0.0";
  const about = { component: "agent" as const, version: named, counter: 0, stores: 0, step: "proving" as const };
  const own = update?.component === "agent" ? update : { ...about, target: damaged ?? good, previous: good };
  return restoreVersion(paths, own, "the installed file is damaged");
}

function goBack(paths: Paths, log: Logger, why: string): void {
  const update = readUpdate(paths);
  // Accepted at the last moment.
  if (update === null || !isProving(update)) return;
  log("error", "watchdog", `version ${update.version} does not work: the previous one is started`, { why });
  restoreVersion(paths, update, why);
}

type Running = ProcessId & { child: ChildProcess | null; startedMs: number };

/** The agent that a watchdog before has started. */
function adopted(paths: Paths): Running | null {
  const holder = holderOf(paths.agentLock);
  return holder === null ? null : { ...holder, child: null, startedMs: performance.now() };
}

function started(paths: Paths, log: Logger): Running {
  const program = join(paths.links.agent.current, programName);
  const child = spawn(program, ["run"], { stdio: ["ignore", "inherit", "inherit"], windowsHide: true });
  child.on("error", (error) => log("error", "watchdog", "the agent does not start", { error: error.message }));
  const pid = child.pid ?? 0;
  return { pid, started: pid > 0 ? (startOf(pid) ?? "") : "", child, startedMs: performance.now() };
}

/** Waits for the end of the agent, of its time to prove itself, or of this process. */
async function end(
  agent: Running,
  { paths, stopping, deadlineMs }: { paths: Paths; stopping: Stopping; deadlineMs: number | null },
): Promise<Ended> {
  const endsMs = deadlineMs === null ? Number.POSITIVE_INFINITY : agent.startedMs + deadlineMs;
  let code: number | null | undefined = agent.pid === 0 ? exitCodes.failed : undefined;
  agent.child?.on("exit", (exitCode) => {
    code = exitCode;
    wake();
  });
  let wake = () => {};
  while (!stopping.stopped) {
    if (code === undefined && agent.child === null && !isRunning(agent)) code = null;
    if (code !== undefined) return { code, ranMs: performance.now() - agent.startedMs };
    if (performance.now() > endsMs && !hasProved(paths)) return "unproved";
    // Without a deadline the exit of a child wakes it.
    const isIdle = agent.child !== null && (deadlineMs === null || hasProved(paths));
    const exited = new Promise<void>((resolve) => {
      wake = resolve;
    });
    await Promise.race([exited, stopping.pause(isIdle ? 5_000 : pollMs)]);
  }
  return "stopped";
}

function hasProved(paths: Paths): boolean {
  const update = readUpdate(paths);
  return !isProving(update) || readStored<{ version: string }>(paths.alive.agent)?.version === update?.version;
}

/** Ends the agent: asks it, and kills it when it does not end. */
async function stop(agent: Running): Promise<void> {
  if (agent.pid === 0 || !isRunning(agent)) return;
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(agent.pid, name);
    } catch {
      // It has ended.
    }
  };
  signal("SIGTERM");
  const endsMs = performance.now() + endMs;
  const { pause } = createStopping();
  while (isRunning(agent)) {
    if (performance.now() > endsMs) signal("SIGKILL");
    await pause(50);
  }
}

/** Which enrollment key is stored; empty for none. */
function keyMark(paths: Paths): string {
  const found = statSync(paths.enrollmentKey, { throwIfNoEntry: false });
  return found ? `${found.ino} ${found.mtimeMs}` : "";
}

/** Another enrollment key than the agent had ends the wait: someone is there and looks. One that was refused stays. */
async function waitForRestart(
  paths: Paths,
  { stopping, key, ms }: { stopping: Stopping; key: string; ms: number },
): Promise<void> {
  const endsMs = performance.now() + ms;
  while (!stopping.stopped && performance.now() < endsMs && ["", key].includes(keyMark(paths))) {
    await stopping.pause(Math.min(pollMs, endsMs - performance.now()));
  }
}
