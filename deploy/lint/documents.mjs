// Fails when the handwritten documents below docs/ have more words than a reader can be asked to read. What the code
// generates does not count. With --words it prints the words of each page.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const wordsMax = 50_000;

/** Written by deploy/reference/generate.mjs and deploy/kubernetes/settings.mjs. */
const generated = [
  "docs/errors.md",
  "docs/events.md",
  "docs/operations/metrics.md",
  "docs/operations/settings.md",
  "docs/decisions/README.md",
];

/** Tables of figures in docs/performance, which benches write. */
const figures = /<!-- figures -->[\s\S]*?<!-- \/figures -->/g;

/** As `wc -w` counts. */
const wordsOf = (text) => text.replace(figures, "").split(/\s+/).filter(Boolean).length;

/** What is wrong with these pages, words by path, or null. */
function problemOf(pages) {
  const words = [...pages.values()].reduce((sum, each) => sum + each, 0);
  if (words <= wordsMax) return null;
  const most = [...pages].sort(([, a], [, b]) => b - a).slice(0, 3);
  const longest = most.map(([path, each]) => `${path} ${each}`).join(", ");
  return `docs/ has ${words} handwritten words, at most ${wordsMax}; the longest pages: ${longest}`;
}

const planted = problemOf(new Map([["planted.md", wordsOf("word ".repeat(wordsMax + 1))]]));
if (!planted?.startsWith(`docs/ has ${wordsMax + 1} handwritten words`) || problemOf(new Map([["a.md", wordsMax]])))
  throw new Error("documents.mjs does not count what is planted");
if (wordsOf("one <!-- figures -->\n| two |\n<!-- /figures -->\nthree") !== 2)
  throw new Error("documents.mjs counts figures, or more or less than those");
for (const path of generated)
  if (!existsSync(`${root}${path}`)) throw new Error(`documents.mjs leaves out ${path}, which does not exist`);

const tracked = execFileSync("git", ["ls-files", "-z", "docs/*.md"], { cwd: root, encoding: "utf8" }).split("\0");
const pages = new Map(
  tracked
    .filter((path) => path !== "" && !generated.includes(path) && existsSync(`${root}${path}`))
    .map((path) => [path, wordsOf(readFileSync(`${root}${path}`, "utf8"))]),
);
if (process.argv.includes("--words"))
  for (const [path, words] of pages) console.log(`${String(words).padStart(6)} ${path}`);
const problem = problemOf(pages);
if (problem) {
  console.error(problem);
  process.exitCode = 1;
}
