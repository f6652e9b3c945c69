import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { AgentIdentity, Stopping } from "@muster/agent";
import { generateNoteKey, noteKeys } from "@muster/kit";
import { until } from "@muster/testing";
import { readStored } from "../durable.ts";
import { startOf } from "../folder-lock.ts";
import { isWhole } from "../install/release-folder.ts";
import { type Paths, pathsOf, programName } from "../paths.ts";
import { type FakePlatform, type Published, publish, scriptOf, startFakePlatform } from "./fake-platform.ts";
import { digest } from "./installation.ts";

const signer = noteKeys(generateNoteKey("releases")).signer;
const shim = pathToFileURL(fileURLToPath(new URL("../../kill-shim.mjs", import.meta.url))).href;
const updateMs = 300_000;

/** An installation whose agent and watchdog are killed, with a platform of its own. */
export type KilledMachine = {
  folder: string;
  paths: Paths;
  platform: FakePlatform;
  /** Updates that ended, and of these the ones that were rolled back, since their version does not work. */
  done: number;
  rolledBack: number;
  watchdog: ChildProcess | null;
};

/** `least` times at least each step is hit, if there are enough updates; `notes` is the file of the kills. */
export type Kills = { percent: number; least: number; notes: string };

type Next = Published & { counter: number; fails: boolean };

/** Version n, as its file: every fifth is of the watchdog, and another fifth ends at once. */
function versionOf(n: number): Next {
  const version = `1.${n}.0`;
  const component = n % 5 === 3 ? "watchdog" : "agent";
  const fails = n % 5 === 1;
  const program = fails ? scriptOf(version, "exit 1") : scriptOf(version);
  return { ...publish(version, program, signer, { component, counter: n }), counter: n, fails };
}

/** Installs the first version into a folder. */
export async function newKilledMachine(folder: string): Promise<KilledMachine> {
  const platform = await startFakePlatform();
  const paths = pathsOf({ programFolder: folder, stateFolder: join(folder, "state") });
  const [version, program] = ["1.0.0", scriptOf("1.0.0")];
  const sha256 = digest(program);
  const target = paths.folderOf(version, sha256);
  mkdirSync(join(folder, target), { recursive: true });
  mkdirSync(paths.stateFolder, { mode: 0o700 });
  writeFileSync(join(folder, target, programName), program, { mode: 0o755 });
  const release = { version, size: program.length, sha256, counter: 0, component: "agent" };
  writeFileSync(join(folder, target, "release.json"), JSON.stringify(release));
  symlinkSync(target, paths.links.agent.current);
  symlinkSync(target, paths.links.watchdog.current);
  writeFileSync(paths.enrollmentKey, "0f".repeat(32));
  writeFileSync(paths.machine, JSON.stringify({ hardwareId: folder, serialNumber: "" }));
  const config = { url: platform.url, eventLogs: "none", rootKeys: [signer.text] };
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  return { folder, paths, platform, done: 0, rolledBack: 0, watchdog: null };
}

/** What a service manager does: it starts the watchdog whenever it ended. */
export async function keepWatchdog(machine: KilledMachine, kills: Kills, stopping: Stopping): Promise<void> {
  const env = {
    ...process.env,
    NODE_OPTIONS: `--import ${shim}`,
    KILL_PERCENT: String(kills.percent),
    KILL_LEAST: String(kills.least),
    KILL_NOTES: kills.notes,
    KILL_FOLDER: machine.folder,
    MUSTER_AGENT_STEADY_SECONDS: "0.2",
    MUSTER_AGENT_WAIT_SECONDS: "1",
  };
  while (!stopping.stopped) {
    const program = join(machine.paths.links.watchdog.current, programName);
    const child = spawn(program, ["supervise"], { stdio: "ignore", env });
    machine.watchdog = child;
    await new Promise((resolve) => child.on("exit", resolve).on("error", resolve));
    await stopping.pause(50);
  }
}

/** Offers one version after another, until there were enough. */
export async function updateOn(machine: KilledMachine, enough: () => boolean, stopping: Stopping): Promise<void> {
  for (let n = 1; !enough() && !stopping.stopped; n++) {
    const next = versionOf(n);
    machine.platform.offered = next;
    await until(`the end of ${next.version} of ${machine.folder}`, () => isOver(machine, next), updateMs);
    machine.done += 1;
    if (next.fails) machine.rolledBack += 1;
  }
}

/** Whether an update ended as it should. One that was undone, since its processes were killed, is offered again. */
function isOver({ platform, paths }: KilledMachine, next: Next): boolean {
  const { heartbeats } = platform;
  const { component, version, counter, fails } = next;
  const last = heartbeats.at(-1);
  const runs = (component === "watchdog" ? last?.watchdogVersion : last?.agentVersion) === version;
  const isUndone = heartbeats.some(({ update }) => update?.version === version && update.state === "rolled_back");
  if (platform.offered === null && !runs && !(fails && isUndone)) platform.offered = next;
  if (existsSync(paths.update)) return false;
  if (fails) return isUndone && !runs;
  return runs && readStored<AgentIdentity>(paths.identity)?.counters?.[component as "agent"] === counter;
}

/** At every look there is a program that is whole, and the token. Returns the number of looks. */
export async function watchDisk(machine: KilledMachine, faulty: string[], stopping: Stopping): Promise<number> {
  const { folder, paths } = machine;
  let looks = 0;
  for (; !stopping.stopped; looks++) {
    for (const { current } of Object.values(paths.links)) {
      const version = realpathSync(current);
      // A link that leads to another version by now: what it led to may be gone.
      if (!(await isWhole(version)) && realpathSync(current) === version) faulty.push(`${version}: no whole program`);
    }
    // In this order: it may be made in between.
    const isEnrolled = existsSync(paths.identity);
    if (isEnrolled && !readStored<AgentIdentity>(paths.identity)?.token) faulty.push(`${folder}: no token`);
    await stopping.pause(20);
  }
  return looks;
}

/** Processes of the machines in a folder: agents and watchdogs, by their environment. */
export function processesIn(folder: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && environmentOf(pid).includes(`KILL_FOLDER=${folder}`));
}

/** Ends what a failed test has left. */
export async function endProcessesIn(folder: string): Promise<void> {
  await until("the end of all processes", () => {
    const left = processesIn(folder);
    for (const pid of left) if (startOf(pid) !== null) process.kill(pid, "SIGKILL");
    return left.length === 0;
  });
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    return ""; // It has ended.
  }
}
