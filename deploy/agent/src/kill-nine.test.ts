import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { type AgentIdentity, createStopping } from "@muster/agent";
import { until } from "@muster/testing";
// @ts-expect-error it has no types
import { countsOf, updateSteps } from "../kill-steps.mjs";
import { readStored } from "./durable.ts";
import { holderOf } from "./folder-lock.ts";
import {
  endProcessesIn,
  type KilledMachine,
  keepWatchdog,
  newKilledMachine,
  processesIn,
  updateOn,
  watchDisk,
} from "./testing/killed-machine.ts";

// KILL_UPDATES=200 makes a long run, which hits each step ten times, and KILL_REPORT is the file of its figures
// (`npm run bench -- kills`); without it a few updates are made.
const updates = Number(process.env.KILL_UPDATES ?? 6);
const isLong = updates > 8;
const agents = isLong ? 8 : 2;
const kills = { percent: isLong ? 1 : 2, least: isLong ? 10 : 0 };
const longestMs = 27 * 60_000;

let folder: string;
let machines: KilledMachine[];
const stopping = createStopping();
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "muster-kill-"));
  machines = [];
});
afterEach(async () => {
  stopping.stop();
  await endProcessesIn(folder);
  await Promise.all(machines.map(({ platform }) => platform.close()));
  rmSync(folder, { recursive: true, force: true });
});

const pointsIn = (notes: string) => {
  const lines = readFileSync(notes, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => line.split("\t")[2] ?? "");
};

/** Ends all machines as a service manager does, without another kill: each has its watchdog then. */
async function endMachines(notes: string): Promise<void> {
  writeFileSync(`${notes}.over`, "");
  for (const { paths } of machines) await until("its watchdog", () => holderOf(paths.watchdogLock) !== null);
  stopping.stop();
  for (const { watchdog } of machines) watchdog?.kill("SIGTERM");
}

it(`agents and watchdogs that are killed at any moment install ${updates} updates, keep their token and leave no process`, async () => {
  const notes = join(folder, "killed");
  writeFileSync(notes, "");
  for (let n = 0; n < agents; n++) machines.push(await newKilledMachine(join(folder, `machine-${n}`)));
  const faulty: string[] = [];
  const kept = machines.map((machine) => keepWatchdog(machine, { ...kills, notes }, stopping));
  const watched = machines.map((machine) => watchDisk(machine, faulty, stopping));
  const total = (name: "done" | "rolledBack") => machines.reduce((sum, machine) => sum + machine[name], 0);
  const countsNow = (): Record<string, number> => countsOf(updateSteps, pointsIn(notes));
  const isHitEnough = () => Object.values(countsNow()).every((count) => count >= kills.least);
  const startedMs = performance.now();
  const enough = () =>
    performance.now() - startedMs > longestMs || (total("done") - total("rolledBack") >= updates && isHitEnough());
  await Promise.all(machines.map((machine) => updateOn(machine, enough, stopping)));

  await endMachines(notes);
  await Promise.all(kept);
  const looks = (await Promise.all(watched)).reduce((sum, each) => sum + each, 0);
  expect(faulty).toEqual([]);
  for (const { platform, paths } of machines) {
    // One is repeated when its reply was not stored; after the first heartbeat there is none.
    const [first] = platform.heartbeats;
    expect(platform.enrollments.filter(({ atMs }) => Number(atMs) > (first?.atMs ?? 0))).toEqual([]);
    expect(readStored<AgentIdentity>(paths.identity)?.token).toMatch(/^agt_/);
    expect(existsSync(join(paths.links.agent.current, "release.json"))).toBe(true);
  }
  await until("the end of all processes", () => processesIn(folder).length === 0);
  const counts = countsNow();
  expect(pointsIn(notes).length).toBeGreaterThan(0);
  if (process.env.KILL_REPORT) {
    const diskMb = Number(execFileSync("du", ["-sk", folder], { encoding: "utf8" }).split("\t")[0]) / 1024;
    const figures = { updates: total("done") - total("rolledBack"), rolledBack: total("rolledBack"), looks, diskMb };
    const line = { ...figures, kills: pointsIn(notes).length, counts };
    appendFileSync(process.env.KILL_REPORT, `${JSON.stringify(line)}\n`);
  }
  expect(Object.entries(counts).filter(([, count]) => count < kills.least)).toEqual([]);
}, 1_800_000);
