// Reads reports of jest: `tally.mjs REPORT STATUS [SECOND]`. Prints "PASSED FAILED", counting a suite that ran again
// by its second run; `tally.mjs --failed REPORT` prints the paths of the suites that failed, one a line.
import { readFileSync } from "node:fs";

const suitesOf = (path) => {
  const text = readFileSync(path, "utf8");
  return text === "" ? null : JSON.parse(text).testResults;
};
const hasFailed = ({ status }) => status === "failed";
const count = (suite, status) => suite.assertionResults.filter((test) => test.status === status).length;

const [first, second, third] = process.argv.slice(2);
if (first === "--failed") {
  for (const suite of (suitesOf(second) ?? []).filter(hasFailed)) console.log(suite.name);
} else {
  const status = Number(second);
  const again = new Map(((third && suitesOf(third)) || []).map((suite) => [suite.name, suite]));
  const suites = (suitesOf(first) ?? []).map((suite) => again.get(suite.name) ?? suite);
  for (const { name } of suites.filter(({ name }) => again.has(name)))
    console.error(`${hasFailed(again.get(name)) ? "failed twice" : "passed only when it ran again"}: ${name}`);
  const passed = suites.reduce((sum, suite) => sum + count(suite, "passed"), 0);
  // A suite that failed without a failed test could not run at all.
  const failed = suites.filter(hasFailed).reduce((sum, suite) => sum + Math.max(1, count(suite, "failed")), 0);
  // A run that ends badly without a failed suite (a worker that died, a teardown that failed) is one failure.
  const unexplained = status !== 0 && failed === 0 && again.size === 0;
  console.log(`${passed} ${failed + (unexplained ? 1 : 0)}`);
}
