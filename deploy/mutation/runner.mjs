// jest's `testRunner` while mutants are tried: runs the test files that messages name, in this process and each with
// modules of its own, with a mutant switched on. A message is `{ test, mutant }`, the reply `{ passed, problem, ran,
// ms, megabytes, left }`: `ran` are the mutants whose expressions ran, `left` is what a failed file left running.
import { on } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import runFile from "../local/jest/native-runner.mjs";

let active = null;
let ran = new Set();
let failure = null;
globalThis.musterMutant = (id) => {
  ran.add(id);
  return id === active;
};

const failures = new Set(["error", "hook_failure", "test_fn_failure"]);

/** One failure finds a mutant: no other test of the file runs. Of a rejection jest decides: it may be handled later. */
function endWithFailure({ name, error, promise }, { rootDescribeBlock }) {
  if (!failures.has(name) || promise !== undefined) return;
  failure ??= String(error?.stack ?? error ?? name);
  skip(rootDescribeBlock);
}

function skip(block) {
  block.mode = "skip";
  for (const child of block.children) {
    if (child.type === "describeBlock") skip(child);
    else child.mode = "skip";
  }
}

/** Milliseconds that what a file closed at its end may take to be gone. */
const closingMs = 200;
const running = () => process.getActiveResourcesInfo().length;

/** How many timers, sockets, servers and processes there are more than before. */
async function leftSince(before) {
  const end = performance.now() + closingMs;
  while (running() > before && performance.now() < end) await delay(20);
  return Math.max(0, running() - before);
}

/** Why a file does not pass; null when it does. */
async function problemOf(run) {
  try {
    const { numFailingTests, numPassingTests, testExecError, failureMessage } = await run();
    if (failure !== null || numFailingTests > 0 || testExecError) return failure ?? failureMessage;
    return numPassingTests > 0 ? null : "no test ran";
  } catch (error) {
    // A mutant may be in what a module does when it is loaded.
    return String(error?.stack ?? error);
  }
}

export default async function run(globalConfig, config, environment, runtime) {
  environment.handleTestEvent = endWithFailure;
  process.once("disconnect", () => process.exit());
  const messages = on(process, "message");
  process.send("ready");
  for await (const [{ test, mutant }] of messages) {
    [active, ran, failure] = [mutant, new Set(), null];
    const before = running();
    const began = performance.now();
    const problem = await problemOf(() => runFile(globalConfig, config, environment, runtime, test));
    const ms = performance.now() - began;
    const passed = problem === null;
    const left = passed ? 0 : await leftSince(before);
    const megabytes = process.memoryUsage.rss() / 2 ** 20;
    process.send({ passed, problem, ran: [...ran], ms, megabytes, left });
  }
}
