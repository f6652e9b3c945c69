// Fails where a test compares processor time with milliseconds: machines differ by a factor of four.
// processorUnits of @muster/testing compares it with a fixed work.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const tests = execFileSync("git", ["ls-files", "-z", "*.test.ts", "*.test.tsx"], { cwd: root, encoding: "utf8" });
const timed = tests
  .split("\0")
  .filter((path) => path !== "" && /\bcpuUsage\(/.test(readFileSync(`${root}${path}`, "utf8")));
for (const path of timed) console.error(`${path}: measures processor time: processorUnits`);
if (timed.length > 0) process.exit(1);
