import { spawn } from "node:child_process";
import { afterEach, describe, expect, it } from "@jest/globals";
import { type Keeper, keepRunning, type Run, started } from "./keep-running.ts";
import { alive, birthOf, commandOf, endRecorded, gone } from "./process-table.ts";

const keepers: Keeper[] = [];
afterEach(async () => {
  await Promise.all(keepers.splice(0).map((keeper) => keeper.stop(0)));
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
  const keeper = keepRunning({ name: "part", start, changed: () => wake(), say: (line) => said.push(line) });
  keepers.push(keeper);
  const changed = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });
  return { keeper, changed };
}

describe("a supervised process", () => {
  it("is started again, visibly, when it is killed", async () => {
    const said: string[] = [];
    const { keeper, changed } = keep(async () => sleeper(), said);
    const { pid } = await keeper.first;
    const again = changed();
    process.kill(pid, "SIGKILL");
    await again;
    expect(keeper.pid()).not.toBe(pid);
    expect(said).toEqual(["part ended: killed by SIGKILL; starting it again in 0.2 s"]);
  });

  it("stays ended once it is stopped", async () => {
    const { keeper } = keep(async () => sleeper());
    const { pid } = await keeper.first;
    await keeper.stop(0);
    expect(keeper.pid()).toBeNull();
    expect(alive(pid)).toBe(false);
  });

  it("that is stopped while it starts does not survive", async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let run: Run | undefined;
    const { keeper } = keep(async () => {
      await held;
      run = sleeper();
      return run;
    });
    const stopped = keeper.stop(0);
    release();
    await stopped;
    expect(alive((run as Run | undefined)?.pid ?? 0)).toBe(false);
  });

  it("whose first start fails is given up with the reason", async () => {
    const said: string[] = [];
    const { keeper } = keep(() => Promise.reject(new Error("no such program")), said);
    await expect(started(keeper)).rejects.toThrow("no such program");
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
