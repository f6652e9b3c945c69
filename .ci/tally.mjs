// Reads reports of jest, each with the status of its run: `tally.mjs REPORT STATUS …`. Prints "PASSED FAILED".
import { existsSync, readFileSync } from "node:fs";

function suitesOf(path) {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  return text === "" ? [] : JSON.parse(text).testResults;
}

const count = (suite, status) => suite.assertionResults.filter((test) => test.status === status).length;

let passed = 0;
let failed = 0;
const args = process.argv.slice(2);
for (let at = 0; at < args.length; at += 2) {
  const suites = suitesOf(args[at]);
  passed += suites.reduce((sum, suite) => sum + count(suite, "passed"), 0);
  // A suite that failed without a failed test could not run at all.
  const found = suites
    .filter(({ status }) => status === "failed")
    .reduce((sum, suite) => sum + Math.max(1, count(suite, "failed")), 0);
  // A run that ends badly without a failed suite (a worker that died, a teardown that failed) is one failure.
  failed += args[at + 1] !== "0" && found === 0 ? 1 : found;
}
console.log(`${passed} ${failed}`);
