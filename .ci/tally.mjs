// Reads reports of jest, each with the status of its run and the report of a second run of its failed suites:
// `tally.mjs REPORT STATUS AGAIN …` prints "PASSED FAILED", counting a suite that ran again by its second run;
// `tally.mjs --failed REPORT` prints the paths of the suites that failed, one a line.
import { existsSync, readFileSync } from "node:fs";

function suitesOf(path) {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  return text === "" ? [] : JSON.parse(text).testResults;
}

const hasFailed = ({ status }) => status === "failed";
const count = (suite, status) => suite.assertionResults.filter((test) => test.status === status).length;

function tally(report, status, second) {
  const again = new Map(suitesOf(second).map((suite) => [suite.name, suite]));
  const suites = suitesOf(report).map((suite) => again.get(suite.name) ?? suite);
  for (const [name, suite] of again)
    console.error(`${hasFailed(suite) ? "failed twice" : "passed only when it ran again"}: ${name}`);
  const passed = suites.reduce((sum, suite) => sum + count(suite, "passed"), 0);
  // A suite that failed without a failed test could not run at all.
  const failed = suites.filter(hasFailed).reduce((sum, suite) => sum + Math.max(1, count(suite, "failed")), 0);
  // A run that ends badly without a failed suite (a worker that died, a teardown that failed) is one failure.
  const unexplained = status !== "0" && failed === 0 && again.size === 0;
  return { passed, failed: failed + (unexplained ? 1 : 0) };
}

const args = process.argv.slice(2);
if (args[0] === "--failed") {
  for (const { name } of suitesOf(args[1]).filter(hasFailed)) console.log(name);
} else {
  const all = { passed: 0, failed: 0 };
  for (let at = 0; at < args.length; at += 3) {
    const { passed, failed } = tally(args[at], args[at + 1], args[at + 2]);
    all.passed += passed;
    all.failed += failed;
  }
  console.log(`${all.passed} ${all.failed}`);
}
