// A jest reporter: ends each cluster that end-to-end suites lend or share once the last suite that may use it is done.
// An idle cluster takes processor time and memory from the suites that follow (docs/performance/memory.md).
import { readFileSync } from "node:fs";
import { endCluster } from "./global-teardown.mjs";
import { clusterOf } from "./sequencer.mjs";

export default class {
  /** Paths of the suites to come, by the name of their cluster. */
  #left = new Map();

  onRunStart() {
    this.#left.clear();
  }

  onTestFileStart(test) {
    // Sequencer and reporters are in the same process; what the sequencer sorted is the whole run.
    if (this.#left.size > 0) return;
    for (const { path } of globalThis.musterSuites ?? [test]) {
      const name = clusterOf(path, readFileSync(path, "utf8"));
      if (name !== null) this.#left.set(name, (this.#left.get(name) ?? new Set()).add(path));
    }
  }

  onTestFileResult({ path }) {
    for (const [name, paths] of this.#left) {
      if (!paths.delete(path) || paths.size > 0) continue;
      const ended = endCluster(name);
      // The teardown waits for these promises and reports their failures.
      ended.catch(() => undefined);
      globalThis.musterEnded = [...(globalThis.musterEnded ?? []), ended];
    }
  }
}
