// Tests run from the TypeScript sources (export condition "source"): no build is needed first.
export default {
  testEnvironment: "node",
  testEnvironmentOptions: { customExportConditions: ["source", "node", "node-addons"] },
  extensionsToTreatAsEsm: [".ts"],
  moduleFileExtensions: ["ts", "js", "mjs", "cjs", "json", "node"],
  transform: {
    "\\.ts$": ["@swc/jest", { jsc: { parser: { syntax: "typescript" }, target: "es2023" }, module: { type: "es6" } }],
  },
  testMatch: ["**/*.test.ts"],
  testPathIgnorePatterns: ["/node_modules/", "/dist/", "/.muster/"],
  modulePathIgnorePatterns: ["/dist/", "/.muster/"],
  watchPathIgnorePatterns: ["/.muster/"],
  globalSetup: "./deploy/local/jest/global-setup.mjs",
  globalTeardown: "./deploy/local/jest/global-teardown.mjs",
  testTimeout: 60_000,
  maxWorkers: 2,
  // Modules of finished files are never given back (node --experimental-vm-modules): a worker that holds this much is started anew.
  workerIdleMemoryLimit: "1200MB",
};
