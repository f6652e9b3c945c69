// Tests of a source: those that reach it over imports.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";

const stepsMax = 7;
/** Of its folder, and of the rest of its package, whose tests start databases. */
const [ownMax, othersMax] = [24, 4];

/** The value of a function by its argument, computed once. */
function once(compute) {
  const computed = new Map();
  return (key) => {
    if (!computed.has(key)) computed.set(key, compute(key));
    return computed.get(key);
  };
}

const importsOf = once((path) =>
  [...readFileSync(path, "utf8").matchAll(/from "(\.[^"]+\.ts)"/g)]
    .map(([, to]) => resolve(dirname(path), to))
    .filter((to) => existsSync(to)),
);

const testsIn = once((folder) =>
  readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((path) => path.endsWith(".test.ts")),
);

/** What a test imports, with the number of steps to it. */
const distancesFrom = once((test) => {
  const distances = new Map();
  const seen = new Set([test]);
  let found = [test];
  for (let steps = 1; found.length > 0 && steps <= stepsMax; steps++) {
    found = found.flatMap(importsOf).filter((path) => !seen.has(path) && seen.add(path));
    for (const path of found) distances.set(path, steps);
  }
  return distances;
});

/**
 * Tests of a source in the order in which they are asked about a mutant: those of its folder, then others of its
 * package; of each that of its name, then the nearest. Empty groups are left out.
 */
export function testsOf(file) {
  const folder = dirname(file);
  const source = file.slice(0, file.lastIndexOf(`${sep}src${sep}`) + 4);
  const steps = (test) => (test === file.replace(/\.ts$/, ".test.ts") ? 0 : distancesFrom(test).get(file));
  const nearest = (tests, most) =>
    tests
      .filter((test) => distancesFrom(test).has(file))
      .sort((a, b) => steps(a) - steps(b))
      .slice(0, most);
  const own = testsIn(folder);
  const others = testsIn(source).filter((test) => !own.includes(test));
  return [nearest(own, ownMax), nearest(others, othersMax)].filter((group) => group.length > 0);
}
