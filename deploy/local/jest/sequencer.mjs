// jest's `testSequencer`: suites that start clusters run first, so that no long suite is left over at the end for one
// worker alone; suites that alternate at one cluster are spread, so that no worker waits for another. In the first part
// (parts.mjs) the cluster comes last: what fails without one fails sooner.
import { readFileSync } from "node:fs";
import Sequencer from "@jest/test-sequencer";

const turn = /\blentCluster\("(\w+)"/;
/** No suite uses the cluster after that one. */
const lastTurn = /\blentCluster\("\w+", \{ last: true \}\)/;
const wholeCluster = /\bownCluster\(|\bkilledOnce\(/;

/**
 * The cluster that a suite has in turn (`lent-killed`), `shared` of the other end-to-end suites, null of all others.
 */
export function clusterOf(path, text) {
  const [, name] = turn.exec(text) ?? [];
  if (name !== undefined) return `lent-${name}`;
  return path.includes("/e2e/") && !wholeCluster.test(text) ? "shared" : null;
}

/** 0: has a cluster for a while; 1: on the shared cluster; 2: everything else. */
function rank(path, text) {
  if (turn.test(text) || wholeCluster.test(text)) return 0;
  return path.includes("/e2e/") ? 1 : 2;
}

const isLast = ({ path }) => Number(lastTurn.test(readFileSync(path, "utf8")));

/** The items of each group at even distances among all: [a1, b1, a2, b2, a3]. */
function spread(groups) {
  return groups
    .flatMap((group) => group.map((item, at) => ({ item, position: (at + 0.5) / group.length })))
    .sort((a, b) => a.position - b.position)
    .map(({ item }) => item);
}

export default class extends Sequencer {
  sort(tests) {
    // For end-clusters.mjs, which ends each cluster after its last suite.
    globalThis.musterSuites = tests;
    const sorted = super.sort(tests);
    const ranks = [[], [], []];
    const turns = new Map();
    for (const test of sorted) {
      const text = readFileSync(test.path, "utf8");
      const [, name] = turn.exec(text) ?? [];
      if (name === undefined) ranks[rank(test.path, text)].push(test);
      else turns.set(name, [...(turns.get(name) ?? []), test]);
    }
    for (const group of turns.values()) group.sort((a, b) => isLast(a) - isLast(b));
    const [own, shared, light] = ranks;
    if (process.env.TEST_PART === "first") return [...light, ...shared];
    return [...spread([own, shared, ...turns.values()]), ...light];
  }
}
