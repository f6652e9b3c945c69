// Tests of a source: those that reach it over imports.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";

const stepsMax = 7;
/** Of its folder, and of the rest of its package, whose tests start databases: how many are tried and how many run. */
const [ownMax, othersMax, othersRun] = [24, 12, 6];

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

const filesIn = once((folder) =>
  readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((path) => path.endsWith(".ts")),
);
const isTest = (path) => path.endsWith(".test.ts");
const testsIn = (folder) => filesIn(folder).filter(isTest);

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

/** Who imports each source of a folder. */
const importersIn = once((folder) => {
  const importers = new Map();
  for (const path of filesIn(folder).filter((each) => !isTest(each)))
    for (const to of importsOf(path)) importers.set(to, [...(importers.get(to) ?? []), path]);
  return importers;
});

/** Tests that are named after a source or after one that imports it, with the number of steps to that. */
function namedTests(file, folder) {
  const steps = new Map();
  const seen = new Set([file]);
  let found = [file];
  for (let step = 0; found.length > 0 && step <= stepsMax; step++) {
    for (const path of found) steps.set(path.replace(/\.ts$/, ".test.ts"), step);
    found = found.flatMap((path) => importersIn(folder).get(path) ?? []);
    found = found.filter((path) => !seen.has(path) && seen.add(path));
  }
  return steps;
}

/**
 * Tests of a source in the order in which they are run for a mutant: those of its folder, then others of its
 * package; of each those named after it or after what imports it, then the nearest. Of each group at most `most` tests
 * that reach the mutant are run. Empty groups are left out.
 */
export function testsOf(file) {
  const folder = dirname(file);
  const source = file.slice(0, file.lastIndexOf(`${sep}src${sep}`) + 4);
  const named = namedTests(file, source);
  const rank = (test) => named.get(test) ?? stepsMax + distancesFrom(test).get(file);
  const nearest = (tests, count) =>
    tests
      .filter((test) => distancesFrom(test).has(file))
      .sort((a, b) => rank(a) - rank(b))
      .slice(0, count);
  const own = testsIn(folder);
  const others = testsIn(source).filter((test) => !own.includes(test));
  const groups = [
    { tests: nearest(own, ownMax), most: ownMax },
    { tests: nearest(others, othersMax), most: othersRun },
  ];
  return groups.filter(({ tests }) => tests.length > 0);
}
