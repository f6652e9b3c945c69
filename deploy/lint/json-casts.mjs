// Fails where JSON is inserted into a statement without its cast right behind: the cast is how a statement knows which
// values are JSON, and stores them without what PostgreSQL refuses (libs/db/src/client/statement.ts).
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Statements whose JSON comes without what is refused, and why. */
const exceptions = new Map([
  ["services/audit/src/store/sealed-rows.ts", "rules/entry.ts has cleaned the details: they are hashed as stored"],
]);
const sources = execFileSync("git", ["ls-files", "-z", "libs/*/src", "services/*/src"], { cwd: root, encoding: "utf8" })
  .split("\0")
  .filter((path) => /\.ts$/.test(path) && !/\.test\.ts$|\/testing\//.test(path) && !exceptions.has(path));

let problems = 0;
const report = (path, line, text) => {
  console.error(`${path}:${line}: ${text}`);
  problems += 1;
};
for (const path of sources) {
  const source = readFileSync(`${root}${path}`, "utf8");
  const lineOf = (index) => source.slice(0, index).split("\n").length;
  for (const { index } of source.matchAll(/\)\s*::jsonb?\b/g))
    report(path, lineOf(index), "a cast to JSON behind an expression");
  if (!/\bsql`/.test(source)) continue;
  for (const { index } of source.matchAll(/\$\{[^{}`]*JSON\.stringify\([^{}`]*\)\}(?!::jsonb?\b|:)/g)) {
    report(path, lineOf(index), "JSON without a cast");
  }
}
if (problems > 0) process.exit(1);
