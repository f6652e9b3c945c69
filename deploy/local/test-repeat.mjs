// `npm run test:repeat -- N [files]`: runs suites N times, each time beside a process per processor that never rests,
// and names those that failed, with the number of times. Ends with status 1 when one did.
import "./check-node.mjs";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative } from "node:path";

const { prepare, root } = await import("./prepare.mjs");
const { runJest } = await import("./jest/run.mjs");

const [count, ...files] = process.argv.slice(2);
const times = Number(count);
if (!Number.isInteger(times) || times < 1) {
  console.error("usage: npm run test:repeat -- N [files]");
  process.exit(2);
}
prepare({ client: true });

const busy = Array.from({ length: availableParallelism() }, () =>
  spawn(
    process.execPath,
    [
      "-e",
      "process.on('disconnect', process.exit); setInterval(() => { const end = Date.now() + 50; while (Date.now() < end); })",
    ],
    {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    },
  ),
);
const folder = mkdtempSync(join(tmpdir(), "muster-repeat-"));
const failures = new Map();
let failedRuns = 0;
try {
  for (let run = 1; run <= times; run++) {
    console.error(`Run ${run} of ${times} …`);
    const report = join(folder, `${run}.json`);
    const status = await runJest(["--silent", "--json", `--outputFile=${report}`, ...files]);
    if (status !== 0) failedRuns++;
    for (const { name, status: outcome } of JSON.parse(readFileSync(report, "utf8")).testResults) {
      if (outcome === "failed") failures.set(name, (failures.get(name) ?? 0) + 1);
    }
  }
} finally {
  for (const each of busy) each.disconnect();
  rmSync(folder, { recursive: true, force: true });
}
for (const [name, failed] of failures) console.log(`failed in ${failed} of ${times} runs: ${relative(root, name)}`);
console.log(`${times - failedRuns} of ${times} runs passed beside load`);
process.exit(failedRuns === 0 ? 0 : 1);
