// jest's `testEnvironment`: that of jest-environment-node with three changes, for which jest has no settings. They are
// made at the modules `node:vm` and `node:async_hooks`, which jest shares with this file, in the workers alone.
//
// 1. The global object of a suite's context is an ordinary one. jest makes a proxy behind interceptors, which each use
//    of `Math`, `Buffer` or `Promise` asks anew: 0.3 µs, 30 times the whole of a loop over bytes.
// 2. What V8 compiled of a file is kept for the suites that follow in this worker. Each has a context of its own, into
//    which the same hundreds of files of packages are loaded.
// 3. What a suite keeps in an AsyncLocalStorage, jest-circus one of its own in each, ends with the suite. Node passes
//    the stores of all that were ever used on to each promise that is made in the worker.
import asyncHooks from "node:async_hooks";
import vm from "node:vm";
import { TestEnvironment } from "jest-environment-node";

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

asyncHooks.AsyncLocalStorage = class extends AsyncLocalStorage {
  constructor(...parameters) {
    super(...parameters);
    storages.add(this);
  }
};

export default class extends TestEnvironment {
  constructor(config, context) {
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(config, context);
    } finally {
      vm.createContext = createContext;
    }
  }

  async teardown() {
    await super.teardown();
    for (const storage of storages) storage.disable();
    storages.clear();
  }
}
