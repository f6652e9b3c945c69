// jest's `testRunner`: imports test files into the worker itself instead of a separate vm context. Packages are then
// loaded once per worker; sources of this repository once per test file (typescript-hooks.mjs), so that no file finds
// what another left in a module's state.
import { createRequire, register } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { restore, use } from "./globals.mjs";
import { saveProcessState } from "./process-state.mjs";

const require = createRequire(import.meta.url);
// Of no public entry: what jest-circus's own runner loads into the context that it makes.
const circus = join(dirname(require.resolve("jest-circus/package.json")), "build", "jestAdapterInit.js");
let runs = 0;

register("./typescript-hooks.mjs", import.meta.url);
process.setSourceMapsEnabled(true);

/** Runs one file and resolves with its result in jest's own form. */
export default async function run(globalConfig, config, environment, runtime, testPath, sendMessageToJest) {
  // jest-runner's own knows nothing of source maps that Node has: without it lines are those of the TypeScript.
  Error.prepareStackTrace = undefined;
  const restoreProcess = saveProcessState();
  const { initialize, runAndTransformResultsToJestFormat } = freshCircus();
  const { snapshotState } = await initialize({
    config,
    environment,
    globalConfig,
    localRequire: require,
    parentProcess: process,
    runtime,
    sendMessageToJest,
    setGlobalsForRuntime: use,
    testPath,
  });
  const setupAfterEnvPerfStats = { setupAfterEnvStart: Date.now(), setupAfterEnvEnd: Date.now() };
  try {
    // Each run has its own number, which every module of this repository that the test imports inherits.
    await import(`${pathToFileURL(testPath)}?run=${++runs}`);
    const result = await runAndTransformResultsToJestFormat({ config, globalConfig, setupAfterEnvPerfStats, testPath });
    result.snapshot = { ...result.snapshot, added: snapshotState.added, unmatched: snapshotState.unmatched };
    return result;
  } finally {
    restore();
    restoreProcess();
  }
}

/** The framework with no test of the file before. */
function freshCircus() {
  delete require.cache[circus];
  for (const key of Object.getOwnPropertySymbols(globalThis)) {
    if (["EVENT_HANDLERS", "JEST_STATE_SYMBOL"].includes(key.description)) delete globalThis[key];
  }
  return require(circus);
}
