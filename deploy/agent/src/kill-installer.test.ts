import { spawn } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { AgentIdentity } from "@muster/agent";
import { generateNoteKey, noteKeys } from "@muster/kit";
import { until } from "@muster/testing";
// @ts-expect-error it has no types
import { countsOf, installerSteps, stepOf } from "../kill-steps.mjs";
import { readStored } from "./durable.ts";
import { holderOf } from "./folder-lock.ts";
import { isWhole } from "./install/release-folder.ts";
import { type FakePlatform, publish, scriptOf, startFakePlatform } from "./testing/fake-platform.ts";

// KILL_INSTALLS=all kills before and after each use of a tool, and hits each step five times in each test; KILL_REPORT
// is the file of its figures (`npm run bench -- kills`). Without it a few uses are tried.
const isLong = process.env.KILL_INSTALLS === "all";
const sampled = 3;
const leastHits = 5;
const tools = ["chmod", "cp", "curl", "find", "gunzip", "ln", "mkdir", "mktemp", "mv", "rm", "sync"];
const shim = fileURLToPath(new URL("testing/killed-at.sh", import.meta.url));
const signer = noteKeys(generateNoteKey("releases")).signer;
const key = "0f".repeat(32);

let folder: string;
let prefix: string;
let platform: FakePlatform;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "muster-killed-"));
  prefix = join(folder, "prefix");
  mkdirSync(join(folder, "bin"));
  for (const name of tools) symlinkSync(shim, join(folder, "bin", name));
  platform = await startFakePlatform();
  const text = await (await fetch(`${platform.url}/install.sh`)).text();
  writeFileSync(join(folder, "install.sh"), text);
});
afterEach(async () => {
  await install("--uninstall");
  await platform.close();
  rmSync(folder, { recursive: true, force: true });
});

type Ran = { code: number | null; uses: string[] };

/** Runs the installer with the key; `killAt` as testing/killed-at.sh reads it. */
function install(option = "", killAt = ""): Promise<Ran> {
  const notes = join(folder, "notes");
  writeFileSync(notes, "");
  const args = option ? [option] : ["--root-key", signer.text];
  const line = 'export MUSTER_INSTALLER=$$; exec sh "$0" "$@"';
  const env = {
    ...process.env,
    PATH: `${join(folder, "bin")}:${process.env.PATH}`,
    KILL_PATH: process.env.PATH,
    KILL_NOTES: notes,
    KILL_AT: killAt,
    // An enrolled machine is asked for none.
    ...(existsSync(state("identity.json")) ? {} : { MUSTER_ENROLLMENT_KEY: key }),
  };
  const all = ["-c", line, join(folder, "install.sh"), "--prefix", prefix, "--no-service", ...args];
  const child = spawn("sh", all, { env, stdio: "ignore" });
  return new Promise((resolve) => {
    child.on("exit", (code) => resolve({ code, uses: readFileSync(notes, "utf8").trim().split("\n") }));
  });
}

/** Runs the installer, and kills it at a moment. Returns the use at which it died; none when it ended before. */
async function killedAt(moment: string): Promise<string[]> {
  const { code, uses } = await install("", moment);
  return code === null ? [pointOf(uses.at(-1) ?? "")] : [];
}

const current = () => join(prefix, "current");
const state = (name: string) => join(prefix, "state", name);
const token = () => readStored<AgentIdentity>(state("identity.json"))?.token ?? null;

/** A use as steps know it, such as "mv current". */
const pointOf = (use: string) => use.split(" ").slice(1).join(" ");

/** Moments of an installation at which it is killed: all, or some that differ from run to run. */
function momentsOf(uses: readonly string[]): string[] {
  const momentsOfUse = (use: string) => [`${use.split(" ")[0]} before`, `${use.split(" ")[0]} after`];
  const all = uses.flatMap(momentsOfUse);
  if (!isLong) return Array.from({ length: sampled }, () => all[Math.floor(Math.random() * all.length)] ?? "1 before");
  const stepOfUse = (use: string): string | null => stepOf(installerSteps, pointOf(use));
  return [...new Set(uses.map(stepOfUse))].flatMap((step) => {
    const moments = uses.filter((use) => stepOfUse(use) === step).flatMap(momentsOfUse);
    return Array.from({ length: Math.ceil(leastHits / moments.length) }, () => moments).flat();
  });
}

/** Notes at which uses an installer was killed. */
function report(points: readonly string[]): void {
  const path = process.env.KILL_REPORT;
  if (!path) return;
  const line = { kills: points.length, counts: countsOf(installerSteps, points) as Record<string, number> };
  appendFileSync(path, `${JSON.stringify(line)}\n`);
}

describe("the installer, killed at any moment,", () => {
  it("leaves no program or a whole one, and the same line finishes", async () => {
    platform.promoted = publish("1.0.0", scriptOf("1.0.0"), signer);
    const { code, uses } = await install();
    expect(code).toBe(0);
    const hit: string[] = [];
    for (const moment of momentsOf(uses)) {
      await install("--uninstall");
      expect([moment, existsSync(prefix)]).toEqual([moment, false]);
      hit.push(...(await killedAt(moment)));
      const isThere = existsSync(current());
      if (isThere) expect([moment, await isWhole(current())]).toEqual([moment, true]);
      expect([moment, (await install()).code]).toEqual([moment, 0]);
      expect([moment, await isWhole(current()), token()]).toEqual([moment, true, "agt_secret-of-the-device"]);
    }
    report(hit);
  }, 1_800_000);

  it("leaves an installed machine with a whole program and its token", async () => {
    platform.promoted = publish("1.0.0", scriptOf("1.0.0"), signer);
    expect((await install()).code).toBe(0);
    platform.promoted = publish("1.0.1", scriptOf("1.0.1"), signer);
    const { uses } = await install();
    const hit: string[] = [];
    for (const [n, moment] of momentsOf(uses).entries()) {
      platform.promoted = publish(`1.${n + 1}.0`, scriptOf(`1.${n + 1}.0`), signer);
      hit.push(...(await killedAt(moment)));
      expect([moment, await isWhole(current())]).toEqual([moment, true]);
      // What a service manager does.
      const before = platform.heartbeats.length;
      if (holderOf(state("watchdog.lock")) === null) {
        spawn(join(prefix, "watchdog", "muster-agent"), ["supervise"], { stdio: "ignore", detached: true }).unref();
      }
      await until(`a heartbeat after ${moment}`, () => platform.heartbeats.length > before);
      expect([moment, token()]).toEqual([moment, "agt_secret-of-the-device"]);
    }
    report(hit);
    expect((await install()).code).toBe(0);
    expect(readdirSync(join(prefix, "versions")).filter((name) => name.endsWith(".unverified"))).toEqual([]);
  }, 1_800_000);
});
