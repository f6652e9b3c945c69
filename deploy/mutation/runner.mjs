// jest's `testRunner` while mutants are tried: runs the test files that messages name, in this process and each with
// modules of its own, with a mutant switched on. A message is `{ test, mutant }`, the reply `{ passed, problem, reached,
// ms, megabytes }`: `reached` are the mutants whose expressions ran.
import { on } from "node:events";
import runFile from "../local/jest/native-runner.mjs";

let active = null;
let reached = new Set();
let failure = null;
globalThis.musterMutant = (id) => {
  reached.add(id);
  return id === active;
};

const failures = new Set(["error", "hook_failure", "test_fn_failure"]);

/** One failure finds a mutant: no other test of the file runs. */
function endWithFailure({ name, error }, { rootDescribeBlock }) {
  if (!failures.has(name)) return;
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

/** Why a file does not pass; null when it does. */
async function problemOf(run) {
  try {
    const { numPassingTests, testExecError, failureMessage } = await run();
    if (failure !== null || testExecError) return failure ?? failureMessage;
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
    [active, reached, failure] = [mutant, new Set(), null];
    const began = performance.now();
    const problem = await problemOf(() => runFile(globalConfig, config, environment, runtime, test));
    const megabytes = process.memoryUsage.rss() / 2 ** 20;
    const passed = problem === null;
    process.send({ passed, problem, reached: [...reached], ms: performance.now() - began, megabytes });
  }
}
