// jest's `testSequencer`: the longest files first, as ever, but those that wait for one another well apart.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { default: Sequencer } = createRequire(import.meta.url)("@jest/test-sequencer");
/** Other files between two that take turns at a cluster: a worker that waits for its turn does nothing else. */
const between = 8;

export default class extends Sequencer {
  sort(tests) {
    const others = super.sort(tests);
    const taking = others.filter(({ path }) => readFileSync(path, "utf8").includes("shakenCluster("));
    const rest = others.filter((test) => !taking.includes(test));
    const sorted = [];
    while (taking.length > 0 || rest.length > 0) sorted.push(...taking.splice(0, 1), ...rest.splice(0, between));
    return sorted;
  }
}
