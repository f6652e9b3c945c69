// Fails on comments, test names and documents that cite a text which is not in this repository, or a document or
// heading that does not exist.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { slug } from "../reference/repository.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const self = "deploy/lint/citations.mjs";

/** How texts outside the repository were cited. */
const outside = [
  /\b\d\d-(architecture|conventions|gateway|single-sign-on|audit|device-logs|webhooks|agent-release|kubernetes|real-cluster|quality|console)\b/,
  /\binterface (document|specification)\b/i,
  /\((interface|design|conventions|architecture)[,:]|\bInterface, ["“]/,
  /\bthe interface's? ["“]|\b(as|in) the (interface|design)\b/,
  /\b(issue|ticket) #?\d+\b/i,
  /(^|[\s"'`(])\/work\//,
];
/** Applied migrations never change: what they cite may have been merged. */
const frozen = /\/migrations\/\d+_.*\.sql$/;
const linked = /\]\((?!https?:|#)([^)\s#]+\.md)(#[\w-]+)?\)/g;
/** A link to a heading of the same page. */
const within = /\]\(#([\w-]+)\)/g;
const cited = /\b(?:docs|services\/[\w-]+)\/[\w./-]+?\.md(#[\w-]+)?/g;

/** A decision by its file's name alone. */
const decision = /(?<![\w/-])\d{4}-[a-z][a-z\d-]*\.md\b/g;

const headings = new Map();
function headingsOf(path) {
  if (!headings.has(path)) {
    const text = readFileSync(`${root}${path}`, "utf8");
    headings.set(path, new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => slug(heading))));
  }
  return headings.get(path);
}

function* brokenLinks(line, path) {
  for (const [, target, heading] of line.matchAll(linked)) {
    const to = join(dirname(path), target);
    if (!existsSync(`${root}${to}`)) yield `${to} does not exist`;
    else if (heading && !headingsOf(to).has(heading.slice(1))) yield `${to} has no heading ${heading}`;
  }
  for (const [, heading] of line.matchAll(within))
    if (!headingsOf(path).has(heading)) yield `${path} has no heading #${heading}`;
}

function* problemsOf(line) {
  for (const phrase of outside) {
    const found = phrase.exec(line);
    if (found) yield `cites a text outside the repository: "${found[0].trim()}"`;
  }
  for (const [citation] of line.matchAll(cited)) {
    const [path, heading] = citation.split("#");
    if (!existsSync(`${root}${path}`)) yield `${path} does not exist`;
    else if (heading && !headingsOf(path).has(heading)) yield `${path} has no heading #${heading}`;
  }
  for (const [name] of line.matchAll(decision)) {
    if (!existsSync(`${root}docs/decisions/${name}`)) yield `docs/decisions/${name} does not exist`;
  }
}

const tracked = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split("\0");
const texts = tracked.filter(
  (path) =>
    /\.(ts|tsx|mjs|js|md|proto|sql|ya?ml|css|html)$/.test(path) &&
    path !== self &&
    !frozen.test(path) &&
    !path.startsWith("charts/"),
);
let problems = 0;
for (const path of texts.filter((each) => existsSync(`${root}${each}`))) {
  for (const [index, line] of readFileSync(`${root}${path}`, "utf8").split("\n").entries()) {
    const links = path.endsWith(".md") ? [...brokenLinks(line, path)] : [];
    for (const problem of [...problemsOf(line), ...links]) {
      console.error(`${path}:${index + 1}: ${problem}`);
      problems += 1;
    }
  }
}
if (problems > 0) process.exitCode = 1;
