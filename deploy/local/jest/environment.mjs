// jest's `testEnvironment`: that of jest-environment-node with four changes, for which jest has no settings. Three are
// made at the modules `node:vm` and `node:async_hooks`, which jest shares with this file, in the workers alone.
//
// 1. The global object of a suite's context is an ordinary one. jest makes a proxy behind interceptors, which each use
//    of `Math`, `Buffer` or `Promise` asks anew: 0.3 µs, 30 times the whole of a loop over bytes.
// 2. What V8 compiled of a file is kept for the suites that follow in this worker. Each has a context of its own, into
//    which the same hundreds of files of packages are loaded.
// 3. What a suite keeps in an AsyncLocalStorage, jest-circus one of its own in each, ends with the suite. Node passes
//    the stores of all that were ever used on to each promise that is made in the worker.
// 4. What a suite leaves that keeps the worker alive (timers, sockets, servers, processes) is noted, for
//    global-teardown.mjs: a worker with something left does not exit by itself.
import asyncHooks from "node:async_hooks";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import vm from "node:vm";
import { TestEnvironment } from "jest-environment-node";
import { leftFile } from "./left-file.mjs";

const { SourceTextModule, compileFunction, createContext } = vm;

/** Source and code of each file that was compiled in this worker, by its path. */
const compiled = new Map();

/** V8 forgets for code that it takes over whom to ask when that imports something while it runs. */
const imports = /\bimport\s*\(/;

function cachedDataOf(path, source) {
  const kept = compiled.get(path);
  return kept?.source === source ? kept.cachedData : undefined;
}

function compileModule(source, options) {
  const { identifier } = options;
  const cachedData = cachedDataOf(identifier, source);
  if (cachedData) {
    try {
      return new SourceTextModule(source, { ...options, cachedData });
    } catch (error) {
      // A suite changed V8's flags.
      if (error.code !== "ERR_VM_MODULE_CACHED_DATA_REJECTED") throw error;
    }
  }
  const module = new SourceTextModule(source, options);
  if (!imports.test(source)) compiled.set(identifier, { source, cachedData: module.createCachedData() });
  return module;
}

vm.SourceTextModule = new Proxy(SourceTextModule, {
  construct: (_class, [source, options]) => compileModule(source, options),
});

vm.compileFunction = (source, parameters, options) => {
  const { filename } = options;
  const cachedData = cachedDataOf(filename, source);
  const isKept = cachedData === undefined && !imports.test(source);
  const made = compileFunction(source, parameters, { ...options, cachedData, produceCachedData: isKept });
  if (made.cachedDataRejected) compiled.delete(filename);
  else if (isKept) compiled.set(filename, { source, cachedData: made.cachedData });
  return made;
};

const { AsyncLocalStorage } = asyncHooks;
/** Those of the suite that runs now. */
const storages = new Set();

class EndingStorage extends AsyncLocalStorage {
  constructor(...parameters) {
    super(...parameters);
    storages.add(this);
  }
}
// From Node 24 on it is a getter.
Object.defineProperty(asyncHooks, "AsyncLocalStorage", { value: EndingStorage, enumerable: true, configurable: true });

/** Milliseconds that what a suite closed at its end may take to be gone. */
const closingMs = 300;

/** A histogram of the loop's delays counts as active until it is first enabled, and never keeps a process. */
const idle = new Set(["IntervalHistogram"]);

/** Kinds of what keeps this worker alive, with their numbers; its channel to jest does. */
function resources() {
  const counts = {};
  for (const kind of process.getActiveResourcesInfo()) if (!idle.has(kind)) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Kinds of which there are more than before, as text; null when there are none. */
async function leftSince(before) {
  const end = performance.now() + closingMs;
  for (;;) {
    const left = Object.entries(resources())
      .map(([kind, count]) => [kind, count - (before[kind] ?? 0)])
      .filter(([, count]) => count > 0);
    if (left.length === 0) return null;
    if (performance.now() > end) return left.map(([kind, count]) => `${kind} × ${count}`).join(", ");
    await delay(20);
  }
}

export default class extends TestEnvironment {
  #path;
  #before = resources();

  constructor(config, context) {
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(config, context);
    } finally {
      vm.createContext = createContext;
    }
    this.#path = context.testPath;
  }

  async teardown() {
    await super.teardown();
    for (const storage of storages) storage.disable();
    storages.clear();
    const left = await leftSince(this.#before);
    const folder = process.env.MUSTER_E2E_DIR;
    if (left !== null && folder)
      appendFileSync(join(folder, leftFile), `${this.#path} keeps its worker alive: ${left}\n`);
  }
}
