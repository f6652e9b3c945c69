import { spawn } from "node:child_process";
import { afterEach, describe, expect, it } from "@jest/globals";
import { keepRunning, type Run, type SupervisedProcess, started } from "./keep-running.ts";
import { alive, birthOf, commandOf, endRecorded, gone } from "./process-table.ts";

const processes: SupervisedProcess[] = [];
afterEach(async () => {
  await Promise.all(processes.splice(0).map((supervised) => supervised.stop(0)));
});

function sleeper(): Run {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "muster-marker"], { stdio: "ignore" });
  const ended = new Promise<string>((resolve) => child.once("exit", (_, by) => resolve(`killed by ${by}`)));
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  return { pid: child.pid as number, ended, stop };
}

function keep(start: () => Promise<Run>, said: string[] = []) {
  let wake: () => void = () => undefined;
  const supervised = keepRunning({ name: "part", start, changed: () => wake(), say: (line) => said.push(line) });
  processes.push(supervised);
  const changed = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });
  return { supervised, changed };
}

describe("a supervised process", () => {
  it("is started again, visibly, when it is killed", async () => {
    const said: string[] = [];
    const { supervised, changed } = keep(async () => sleeper(), said);
    const { pid } = await supervised.first;
    const again = changed();
    process.kill(pid, "SIGKILL");
    await again;
    expect(supervised.pid()).not.toBe(pid);
    expect(said).toEqual(["part ended: killed by SIGKILL; starting it again in 0.2 s"]);
  });

  it("stays ended once it is stopped", async () => {
    const { supervised } = keep(async () => sleeper());
    const { pid } = await supervised.first;
    await supervised.stop(0);
    expect(supervised.pid()).toBeNull();
    expect(alive(pid)).toBe(false);
  });

  it("does not survive a stop while it starts", async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let run: Run | undefined;
    const { supervised } = keep(async () => {
      await held;
      run = sleeper();
      return run;
    });
    const stopped = supervised.stop(0);
    release();
    await stopped;
    expect(alive((run as Run | undefined)?.pid ?? 0)).toBe(false);
  });

  it("is given up with the reason when its first start fails", async () => {
    const said: string[] = [];
    const { supervised } = keep(() => Promise.reject(new Error("no such program")), said);
    await expect(started(supervised)).rejects.toThrow("no such program");
    expect(said).toEqual([]);
  });
});

describe("a recorded process", () => {
  it("is ended only when its command line bears the marker", async () => {
    const { pid, ended } = sleeper();
    expect(await endRecorded(pid, "another-marker", 100)).toBe(false);
    expect(alive(pid)).toBe(true);
    expect(commandOf(pid)).toContain("muster-marker");
    expect(birthOf(pid)).toBeTruthy();
    expect(await endRecorded(pid, "muster-marker", 2_000)).toBe(true);
    await ended;
    expect(await gone(pid, 1_000)).toBe(true);
    expect(birthOf(pid)).toBeNull();
  });
});
