import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { type AgentIdentity, createStopping } from "@muster/agent";
import { generateNoteKey, noteKeys } from "@muster/kit";
import { until } from "@muster/testing";
import { readStored } from "./durable.ts";
import { holderOf } from "./folder-lock.ts";
import { isWhole } from "./install/release-folder.ts";
import { type Paths, pathsOf, programName } from "./paths.ts";
import { type FakePlatform, type Published, publish, scriptOf, startFakePlatform } from "./testing/fake-platform.ts";
import { digest } from "./testing/installation.ts";

// KILL_UPDATES=200 makes a long run, and prints where processes were killed; without it a few updates are made.
const updates = Number(process.env.KILL_UPDATES ?? 6);
const agents = updates > 8 ? 8 : 2;
const killPercent = 2;
const signer = noteKeys(generateNoteKey("releases")).signer;
const shim = pathToFileURL(fileURLToPath(new URL("../kill-shim.mjs", import.meta.url))).href;

type Machine = { folder: string; paths: Paths; platform: FakePlatform; done: number; watchdog: ChildProcess | null };

let folder: string;
let machines: Machine[];
const stopping = createStopping();
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "muster-kill-"));
  machines = [];
});
afterEach(async () => {
  stopping.stop();
  for (const { watchdog, paths } of machines) {
    watchdog?.kill("SIGKILL");
    const agent = holderOf(paths.agentLock);
    if (agent) process.kill(agent.pid, "SIGKILL");
  }
  await Promise.all(machines.map(({ platform }) => platform.close()));
  rmSync(folder, { recursive: true, force: true });
});

/** Version n, as its file and its program. */
function versionOf(n: number): Published & { sha256: string } {
  const version = `1.${n}.0`;
  const program = scriptOf(version);
  return { ...publish(version, program, signer, { counter: n }), sha256: digest(program) };
}

async function newMachine(n: number): Promise<Machine> {
  const platform = await startFakePlatform();
  const own = join(folder, `machine-${n}`);
  const paths = pathsOf({ programFolder: own, stateFolder: join(own, "state") });
  const first = versionOf(0);
  const target = paths.folderOf(first.version, first.sha256);
  mkdirSync(join(own, target), { recursive: true });
  mkdirSync(paths.stateFolder, { mode: 0o700 });
  const program = scriptOf(first.version);
  writeFileSync(join(own, target, programName), program, { mode: 0o755 });
  const release = {
    version: first.version,
    size: program.length,
    sha256: first.sha256,
    counter: 0,
    component: "agent",
  };
  writeFileSync(join(own, target, "release.json"), JSON.stringify(release));
  symlinkSync(target, paths.links.agent.current);
  symlinkSync(target, paths.links.watchdog.current);
  writeFileSync(paths.enrollmentKey, "0f".repeat(32));
  writeFileSync(paths.machine, JSON.stringify({ hardwareId: `machine-${n}`, serialNumber: "" }));
  const config = { url: platform.url, eventLogs: "none", rootKeys: [signer.text] };
  writeFileSync(join(own, "config.json"), JSON.stringify(config));
  return { folder: own, paths, platform, done: 0, watchdog: null };
}

/** What a service manager does: it starts the watchdog whenever it ended. */
async function keepWatchdog(machine: Machine, killed: string): Promise<void> {
  const env = {
    ...process.env,
    NODE_OPTIONS: `--import ${shim}`,
    KILL_PERCENT: String(killPercent),
    KILL_NOTES: killed,
    KILL_FOLDER: machine.folder,
    MUSTER_AGENT_STEADY_SECONDS: "0.2",
    MUSTER_AGENT_WAIT_SECONDS: "1",
  };
  while (!stopping.stopped) {
    const child = spawn(join(machine.paths.links.watchdog.current, programName), ["supervise"], {
      stdio: "ignore",
      env,
    });
    machine.watchdog = child;
    await new Promise((resolve) => child.on("exit", resolve).on("error", resolve));
    await stopping.pause(50);
  }
}

/** Offers one version after another, until enough were installed. */
async function updateOn(machine: Machine, enough: () => boolean): Promise<void> {
  for (let n = 1; !enough() && !stopping.stopped; n++) {
    const next = versionOf(n);
    machine.platform.offered = next;
    await until(`${next.version} of ${machine.folder}`, () => isInstalled(machine, next.version, n), 120_000);
    machine.done += 1;
  }
}

function isInstalled({ platform, paths }: Machine, version: string, counter: number): boolean {
  // A rollback, since processes were killed three times in a row, is offered again here at once.
  if (platform.offered === null && platform.heartbeats.at(-1)?.agentVersion !== version) {
    platform.offered = versionOf(counter);
  }
  const isOver = !existsSync(paths.update) && platform.heartbeats.at(-1)?.agentVersion === version;
  return isOver && readStored<AgentIdentity>(paths.identity)?.counters?.agent === counter;
}

/** At every look there is a program that is whole, and the token. */
async function watchDisk(machine: Machine, faulty: string[]): Promise<number> {
  let looks = 0;
  for (; !stopping.stopped; looks++) {
    // One look at the link: it may lead to another version with the next one.
    if (!(await isWhole(realpathSync(machine.paths.links.agent.current))))
      faulty.push(`${machine.folder}: no whole program`);
    if (existsSync(machine.paths.identity) && !readStored<AgentIdentity>(machine.paths.identity)) {
      faulty.push(`${machine.folder}: no identity`);
    }
    await stopping.pause(20);
  }
  return looks;
}

it(`agents and watchdogs that are killed at any moment install ${updates} updates, keep their token and leave no process`, async () => {
  const killed = join(folder, "killed");
  writeFileSync(killed, "");
  for (let n = 0; n < agents; n++) machines.push(await newMachine(n));
  const faulty: string[] = [];
  const kept = machines.map((machine) => keepWatchdog(machine, killed));
  const watched = machines.map((machine) => watchDisk(machine, faulty));
  const total = () => machines.reduce((sum, { done }) => sum + done, 0);
  const startedMs = performance.now();
  await Promise.all(machines.map((machine) => updateOn(machine, () => total() >= updates)));
  const seconds = (performance.now() - startedMs) / 1000;

  stopping.stop();
  for (const { watchdog } of machines) watchdog?.kill("SIGTERM");
  await Promise.all(kept);
  const looks = (await Promise.all(watched)).reduce((sum, each) => sum + each, 0);
  expect(faulty).toEqual([]);
  for (const { platform, paths } of machines) {
    // One is repeated when its reply was not stored; after the first heartbeat there is none.
    const [first] = platform.heartbeats;
    expect(platform.enrollments.filter(({ atMs }) => Number(atMs) > (first?.atMs ?? 0))).toEqual([]);
    expect(readStored<AgentIdentity>(paths.identity)?.token).toMatch(/^agt_/);
    await until("the end of the agent", () => holderOf(paths.agentLock) === null);
  }
  expect(execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })).not.toContain(folder);
  const notes = readFileSync(killed, "utf8").trim().split("\n").sort();
  const counts = new Map<string, number>();
  for (const note of notes) counts.set(note, (counts.get(note) ?? 0) + 1);
  if (updates > 8) {
    const lines = [...counts].map(([note, count]) => `${String(count).padStart(5)} ${note}`);
    const figures = `${total()} updates in ${seconds.toFixed(0)} s, ${notes.length} kills, ${looks} looks at the disks`;
    process.stderr.write(`${figures}\n${lines.join("\n")}\n`);
  }
  expect(notes.length).toBeGreaterThan(0);
}, 1_800_000);
