import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../local/prepare.mjs";

const jest = join(root, "node_modules", "jest", "bin", "jest.js");
const runner = fileURLToPath(new URL("runner.mjs", import.meta.url));
const flags = ["--experimental-vm-modules", "--no-warnings", "--max-semi-space-size=64", jest, "--runInBand"];
const startMs = 300_000;
/** Modules of earlier runs stay in the process. */
const megabytesMax = 900;

/** A jest process that runs one test file after the other, and is started anew when it ends. */
export class Worker {
  #env;
  #child = null;

  constructor(env) {
    // Whatever part of the tests it is started from, it runs every file.
    const { TEST_PART: _part, ...own } = process.env;
    this.#env = { ...own, ...env, TEST_TOGETHER: "1" };
  }

  /**
   * Runs a test file with a mutant switched on, or with none. Resolves to the runner's reply; of a process that ended
   * or was ended after `limitMs`, to `{ passed: false, ended: "crash" | "time" }`.
   */
  async ask(test, mutant, limitMs) {
    if (this.#child === null) {
      this.#start(test);
      const ready = await this.#reply(startMs);
      if (ready !== "ready") throw new Error(`jest does not start with ${test}: it ended by ${ready.ended}`);
    }
    const reply = this.#reply(limitMs);
    this.#child.send({ test, mutant }, () => undefined);
    const answered = await reply;
    if (answered.megabytes > megabytesMax || answered.left > 0) this.stop();
    return answered;
  }

  #start(test) {
    const args = [...flags, "--testRunner", runner, "--runTestsByPath", test];
    const stdio = ["ignore", "ignore", "ignore", "ipc"];
    // With the servers that its tests start, a group of its own.
    this.#child = spawn(process.execPath, args, { cwd: root, stdio, env: this.#env, detached: true });
  }

  #reply(limitMs) {
    const child = this.#child;
    return new Promise((settle) => {
      const end = (reply) => {
        clearTimeout(timer);
        child.removeAllListeners();
        if (reply.ended) this.stop();
        settle(reply);
      };
      const timer = setTimeout(end, limitMs, { passed: false, ended: "time" });
      child.once("message", end);
      child.once("exit", () => end({ passed: false, ended: "crash" }));
    });
  }

  /** Ends the process and what it started; the next question starts another one. */
  stop() {
    const child = this.#child;
    this.#child = null;
    if (child === null) return;
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  }
}
