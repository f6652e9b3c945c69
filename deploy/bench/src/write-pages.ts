// node dist/write-pages.js [--check]: brings the newest results into the pages of docs/performance and their summary.
// --check: all of them are as the results are, each bench has a page of the common form, no page is of no bench.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { benches } from "./benches.ts";
import { type Documented, figuresBlock, problemsOf, summaryBlock, withBlock, wordsMax, wordsOf } from "./pages.ts";
import { readRuns } from "./results.ts";

const docs = fileURLToPath(new URL("../../../docs/", import.meta.url));
const folder = join(docs, "performance");
const summary = join(docs, "performance.md");
/** `deploy/kubernetes/check cluster` records, too. */
const names = [...Object.keys(benches), "cluster"].sort();
const isCheck = process.argv.includes("--check");
const problems: string[] = [];

const fileOf = (bench: string) => join(folder, `${bench}.md`);
const documented: Documented[] = [];
for (const bench of names) {
  const page = readFileSync(fileOf(bench), "utf8");
  const runs = readRuns(join(folder, "results"), bench);
  const each = { bench, page: withBlock(page, "figures", figuresBlock(runs)), runs };
  documented.push(each);
  put(fileOf(bench), page, each.page);
  problems.push(...problemsOf(each).map((problem) => `docs/performance/${bench}.md ${problem}`));
}
const before = readFileSync(summary, "utf8");
const after = withBlock(before, "results", summaryBlock(documented));
put(summary, before, after);

const words = [after, ...documented.map(({ page }) => page)].reduce((sum, text) => sum + wordsOf(text), 0);
if (words > wordsMax.all) problems.push(`the pages have ${words} words, ${wordsMax.all} at most`);
for (const name of readdirSync(folder, { recursive: true }).map(String)) {
  const bench = /^(?:results\/)?([^/]+)\.(?:md|jsonl)$/.exec(name)?.[1];
  if (bench && !names.includes(bench)) problems.push(`docs/performance/${name} is of no bench`);
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;

function put(file: string, old: string, text: string): void {
  if (old === text) return;
  if (isCheck) problems.push(`${file.slice(docs.length)} is not as the results are: npm run bench:pages`);
  else writeFileSync(file, text);
}
