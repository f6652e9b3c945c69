// Fails where a test of the console waits for a role to be gone by itself: a dialog that closes hides the whole page from
// roles, so that the wait ends before the row has gone. visitor.gone waits for the dialog first.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const tests = execFileSync("git", ["ls-files", "-z", "gateway/e2e/browser"], { cwd: root, encoding: "utf8" })
  .split("\0")
  .filter((path) => /\.test\.ts$/.test(path));

let problems = 0;
for (const path of tests) {
  const source = readFileSync(`${root}${path}`, "utf8");
  const dialogs = new Set([...source.matchAll(/const (\w+) = [^;]*?getByRole\("dialog"/g)].map(([, name]) => name));
  const roles = [...source.matchAll(/const (\w+) = [^;]*?getByRole\("(?!dialog")/g)].map(([, name]) => name);
  for (const { index, 0: chain } of source.matchAll(/await [^;]*?\.waitFor\(\{ state: "(?:detached|hidden)" \}\)/g)) {
    const [, first = ""] = /^await (\w+)/.exec(chain) ?? [];
    const isOfRole = /getByRole\("(?!dialog")/.test(chain) || (roles.includes(first) && !dialogs.has(first));
    if (!isOfRole) continue;
    console.error(`${path}:${source.slice(0, index).split("\n").length}: waits for a role to be gone: visitor.gone`);
    problems += 1;
  }
}
if (problems > 0) process.exit(1);
