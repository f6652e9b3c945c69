// `tally.mjs REPORT STATUS …`: reads reports of jest, each with the status of its run, and prints "PASSED FAILED" of
// all; to standard error, what failed.
import { existsSync, readFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";

function suitesOf(path) {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  return text === "" ? [] : JSON.parse(text).testResults;
}

const hasFailed = ({ status }) => status === "failed";
const count = (suite, status) => suite.assertionResults.filter((test) => test.status === status).length;

const shortPath = (path) => path.replace(/^.*\/(?=(?:gateway|services|libs|deploy|proto)\/)/, "");

const shownLines = 12;

/** Why a test failed: its message before the stack, without colours and empty lines. */
const reason = (text = "") =>
  stripVTControlCharacters(text)
    .split(/\n\s+at /, 1)[0]
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(0, shownLines)
    .join("\n    ");

/** The failed tests of a suite, or that it could not run, with why. */
function failuresOf({ name, message, assertionResults }) {
  const failed = assertionResults.filter(hasFailed);
  if (failed.length === 0) return [`${shortPath(name)}: ${reason(message)}`];
  return failed.map(({ fullName, failureMessages: [why] }) => `${shortPath(name)} · ${fullName}: ${reason(why)}`);
}

function tally(report, status) {
  const suites = suitesOf(report);
  for (const failure of suites.filter(hasFailed).flatMap(failuresOf)) console.error(`failed: ${failure}`);
  const passed = suites.reduce((sum, suite) => sum + count(suite, "passed"), 0);
  // A suite that failed without a failed test could not run at all.
  const failed = suites.filter(hasFailed).reduce((sum, suite) => sum + Math.max(1, count(suite, "failed")), 0);
  // A run that ends badly without a failed suite (a worker that died, a teardown that failed) is one failure.
  return { passed, failed: failed + (status !== "0" && failed === 0 ? 1 : 0) };
}

const args = process.argv.slice(2);
const all = { passed: 0, failed: 0 };
for (let at = 0; at < args.length; at += 2) {
  const { passed, failed } = tally(args[at], args[at + 1]);
  all.passed += passed;
  all.failed += failed;
}
console.log(`${all.passed} ${all.failed}`);
