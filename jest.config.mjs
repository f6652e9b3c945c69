// Tests run from the TypeScript sources (export condition "source"), in the worker itself: no build is needed first.
export default {
  testEnvironment: "node",
  testRunner: "./deploy/local/jest/native-runner.mjs",
  transform: {},
  moduleFileExtensions: ["ts", "js", "mjs", "cjs", "json", "node"],
  testMatch: ["**/*.test.ts"],
  testPathIgnorePatterns: ["/node_modules/", "/dist/", "/.muster/"],
  modulePathIgnorePatterns: ["/dist/", "/.muster/"],
  watchPathIgnorePatterns: ["/.muster/"],
  globalSetup: "./deploy/local/jest/global-setup.mjs",
  globalTeardown: "./deploy/local/jest/global-teardown.mjs",
  testTimeout: 60_000,
  maxWorkers: 2,
  // A worker that holds as much after a file is started anew.
  workerIdleMemoryLimit: "1200MB",
};
