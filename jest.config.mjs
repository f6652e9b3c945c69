import { leftOut } from "./deploy/local/jest/parts.mjs";

// Tests run from the TypeScript sources (export condition "source"): no build is needed first. Each file has a vm
// context with packages of its own, which environment.mjs makes cheap. With TEST_TOGETHER=1 files are imported into the
// worker itself: packages are loaded once per worker, sources of this repository once per file.
const isolated = {
  testEnvironment: "./deploy/local/jest/environment.mjs",
  testEnvironmentOptions: { customExportConditions: ["source", "node", "node-addons"] },
  extensionsToTreatAsEsm: [".ts"],
  transform: {
    "\\.ts$": ["@swc/jest", { jsc: { parser: { syntax: "typescript" }, target: "es2023" }, module: { type: "es6" } }],
  },
};
const together = { testEnvironment: "node", testRunner: "./deploy/local/jest/native-runner.mjs", transform: {} };

const part = process.env.TEST_PART;

export default {
  ...(process.env.TEST_TOGETHER === "1" ? together : isolated),
  moduleFileExtensions: ["ts", "js", "mjs", "cjs", "json", "node"],
  testMatch: ["**/*.test.ts"],
  testPathIgnorePatterns: ["/node_modules/", "/dist/", "/.muster/", ...leftOut(part)],
  modulePathIgnorePatterns: ["/dist/", "/.muster/"],
  watchPathIgnorePatterns: ["/.muster/"],
  globalSetup: "./deploy/local/jest/global-setup.mjs",
  globalTeardown: "./deploy/local/jest/global-teardown.mjs",
  testSequencer: "./deploy/local/jest/sequencer.mjs",
  reporters: ["default", "./deploy/local/jest/end-clusters.mjs"],
  testTimeout: 60_000,
  // Two use four fifths of two processors, three all of them and 7 GB with the clusters of the end-to-end suites.
  maxWorkers: part !== "first" && process.availableMemory() > 10 * 2 ** 30 ? 3 : 2,
  // A worker that holds as much after a file is started anew.
  workerIdleMemoryLimit: part === "first" ? "400MB" : "900MB",
};
