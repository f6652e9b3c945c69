// `same-tests.mjs BEFORE AFTER…`: compares jest's reports (`--json --outputFile`) and prints each test that is in the
// first and in none of the others; status 1 when there is one. Reports of `-t '^$'` list tests without running them.
import { readFileSync } from "node:fs";

const testsOf = (path) => {
  const { testResults } = JSON.parse(readFileSync(path, "utf8"));
  return testResults.flatMap(({ name, assertionResults }) => {
    const [, suite = name] = /\/((?:gateway|services|libs|deploy|proto)\/.*)$/.exec(name) ?? [];
    return assertionResults.map(({ fullName }) => `${suite} · ${fullName}`);
  });
};

const [before, ...after] = process.argv.slice(2);
const kept = new Set(after.flatMap(testsOf));
const all = testsOf(before);
const lost = all.filter((test) => !kept.has(test));
for (const test of lost) console.log(`lost: ${test}`);
console.log(`${all.length} tests before, ${kept.size} after, ${lost.length} lost`);
process.exitCode = lost.length > 0 ? 1 : 0;
