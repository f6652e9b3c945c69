import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { processesOf } from "../support/processes.ts";

const program = fileURLToPath(new URL("../../../deploy/agent-sim/dist/main.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "muster-sim-killed-"));
const groups: number[] = [];
afterAll(() => {
  for (const group of groups) {
    try {
      process.kill(-group, "SIGKILL");
    } catch (error) {
      // Nothing of it is left, as it should be.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
  rmSync(folder, { recursive: true, force: true });
});

describe("simulated agents", () => {
  it.each<NodeJS.Signals>(["SIGTERM", "SIGKILL"])(
    "end with the shell that npm runs them in, all that a kill of npm ends: %s",
    async (signal) => {
      const state = join(folder, `${signal}.jsonl`);
      // No server answers there: they keep retrying.
      const wanted = ["--url", "http://127.0.0.1:1", "--enrollment-key", "none", "--state", state];
      const shell = spawn("sh", ["-c", '"$0" "$@"; exit $?', process.execPath, program, ...wanted], {
        env: { PATH: process.env.PATH, npm_lifecycle_event: "agent-sim" },
        stdio: ["ignore", "pipe", "ignore"],
        detached: true,
      });
      if (shell.pid) groups.push(shell.pid);
      let said = "";
      shell.stdout.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
      await until("the agents to start", () => said.includes("simulated agent against"), 60_000);
      expect(processesOf(state)).toHaveLength(2);
      shell.kill(signal);
      await until("all of them to end", () => processesOf(state).length === 0, 30_000);
    },
    120_000,
  );
});
