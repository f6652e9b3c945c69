import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { startGuard } from "./guard.ts";
import { alive, gone, signal } from "./process-table.ts";

const folder = mkdtempSync(join(tmpdir(), "muster-guard-"));
const built = fileURLToPath(new URL("../dist/guard.js", import.meta.url));
const started: number[] = [];
afterAll(() => {
  for (const pid of started) signal(pid, "SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** A server in its own session that writes its pid file after a while. */
const server = (pidFile: string) =>
  `setTimeout(() => require("fs").writeFileSync(${JSON.stringify(pidFile)}, process.pid + "\\n"), 700); setInterval(() => {}, 1000)`;

async function supervisor(name: string): Promise<{ supervisor: number; pidFile: string }> {
  const pidFile = join(folder, name);
  const code = `
    const { spawn } = await import("node:child_process");
    const { startGuard } = await import(process.argv[1]);
    startGuard({ pidFile: ${JSON.stringify(pidFile)}, signal: "TERM", marker: ${JSON.stringify(`${name}-marker`)} });
    spawn(process.execPath, ["-e", ${JSON.stringify(server(pidFile))}, ${JSON.stringify(`${name}-marker`)}], { detached: true, stdio: "ignore" });
    console.log("started");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code, built], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const pid = child.pid as number;
  started.push(pid);
  await new Promise((resolve) => child.stdout.once("data", resolve));
  return { supervisor: pid, pidFile };
}

async function pidIn(file: string): Promise<number> {
  await until("the pid file", () => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"), 20_000);
  const pid = Number(readFileSync(file, "utf8"));
  started.push(pid);
  return pid;
}

describe("a guard", () => {
  it("ends the server when the supervisor is killed", async () => {
    const { supervisor: pid, pidFile } = await supervisor("running");
    const serverPid = await pidIn(pidFile);
    process.kill(pid, "SIGKILL");
    expect(await gone(serverPid, 10_000)).toBe(true);
  });

  it("ends a server that was only being started", async () => {
    const { supervisor: pid, pidFile } = await supervisor("starting");
    process.kill(pid, "SIGKILL");
    expect(await gone(await pidIn(pidFile), 15_000)).toBe(true);
  });

  it("leaves a process alone that has the pid of an ended server", async () => {
    const other = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
    const pid = other.pid as number;
    started.push(pid);
    const pidFile = join(folder, "reused");
    writeFileSync(pidFile, `${pid}\n`);
    const code = `
      const { startGuard } = await import(process.argv[1]);
      const { pid } = startGuard({ pidFile: ${JSON.stringify(pidFile)}, signal: "TERM", marker: "reused-marker" });
      console.log(pid);`;
    const launched = spawn(process.execPath, ["--input-type=module", "-e", code, built], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const guardPid = await new Promise<number>((resolve) =>
      launched.stdout.once("data", (data) => resolve(Number(data))),
    );
    started.push(guardPid);
    // Its supervisor has ended; the guard tries for five seconds.
    expect(await gone(guardPid, 15_000)).toBe(true);
    expect(alive(pid)).toBe(true);
  }, 20_000);

  it("kills nothing when there is no pid file, and ends by `stop`", async () => {
    const other = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
    const pid = other.pid as number;
    started.push(pid);
    const guard = startGuard({ pidFile: join(folder, "none"), signal: "TERM", marker: "no-such-marker" });
    expect(alive(guard.pid)).toBe(true);
    guard.stop();
    expect(await gone(guard.pid, 5_000)).toBe(true);
    expect(alive(pid)).toBe(true);
  });
});
