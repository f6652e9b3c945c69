// node generate.mjs [--check]: docs/operations/metrics.md, docs/errors.md and docs/events.md from the compiled code,
// and the index of docs/decisions.
// --check: the pages are as the code is. Either way: no error code is left over from code that went, every metric that
// something queries exists, every alert has its runbook.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { decisionsPage } from "./decisions.mjs";
import { errorsPage } from "./errors.mjs";
import { eventsPage } from "./events.mjs";
import { metricProblems } from "./metric-problems.mjs";
import { metricsOf, metricsPage } from "./metrics.mjs";
import { filesIn, sourceName } from "./repository.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const report = (text) => {
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
};

/** Sources that may throw an error; the tables of all codes are not among them. */
function sources() {
  const tables = ["app-error.ts", "errors.ts", "error-guide.ts"];
  return ["libs", "services", "gateway/src"]
    .flatMap((folder) => filesIn(join(root, folder), sourceName))
    .filter((path) => !tables.some((table) => path.endsWith(`/src/${table}`)))
    .map((path) => readFileSync(path, "utf8"))
    .join("\n");
}

async function unusedCodes() {
  const { errorGuide } = await import(join(root, "gateway/dist/error-guide.js"));
  const code = sources();
  return Object.keys(errorGuide).filter((each) => !code.includes(`"${each}"`));
}

const metrics = await metricsOf(root);
const pages = Object.assign(
  decisionsPage(root),
  await errorsPage(root),
  await eventsPage(root),
  metricsPage(root, metrics),
);
const read = (path) => {
  try {
    return readFileSync(join(root, path), "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return "";
    throw error;
  }
};
for (const [path, text] of Object.entries(pages)) {
  if (!process.argv.includes("--check")) writeFileSync(join(root, path), text);
  else if (read(path) !== text) report(`${path} is not as the code is: node deploy/reference/generate.mjs`);
}
for (const code of await unusedCodes()) report(`no code throws ${code}: remove it`);
for (const text of await metricProblems(root, metrics)) report(text);
// Imported modules may hold timers of their own.
process.exit();
