import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Report } from "./report.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const suites = ["kill-nine", "kill-installer"].map((name) => `deploy/agent/src/${name}.test.ts`);
const leastHits = 10;

/** What a test has counted: kills by the step at which they fell. */
type Killed = { kills: number; counts: Record<string, number> };
type Updated = Killed & { updates: number; rolledBack: number; looks: number; diskMb: number };

/**
 * `npm run bench -- kills [updates]`: 200 updates of eight agents whose processes are killed (−9) at random points of
 * the update, and installations of which each is killed at another use of a tool. Ends with status 1 when a test finds
 * no whole program, a lost token or a process that is left, or when a step was hit less than ten times.
 */
export async function run([updates = "200"]: string[], report: Report): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "muster-bench-kills-"));
  const file = join(folder, "report");
  try {
    const startedMs = performance.now();
    const isPassed = await runSuites({ KILL_UPDATES: updates, KILL_INSTALLS: "all", KILL_REPORT: file });
    const minutes = (performance.now() - startedMs) / 60_000;
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
    const all: (Killed | Updated)[] = lines.map((line) => JSON.parse(line));
    const updated = all.find((each): each is Updated => "updates" in each);
    const counts = sumOf(all);
    report.none({ "suites that found a fault": isPassed ? 0 : 1 });
    report.atLeast("updates installed", updated?.updates ?? 0, "", Number(updates));
    report.atLeast("kills at the least hit step", Math.min(...counts.values()), "", leastHits);
    report.atMost("took", minutes, "min", 30);
    report.atMost("on the disk", (updated?.diskMb ?? Number.NaN) / 1_000, "GB", 5);
    const kills = all.reduce((sum, each) => sum + each.kills, 0);
    report.also("kills", kills, "");
    report.also("rollbacks", updated?.rolledBack ?? 0, "");
    report.also("looks at the disks", updated?.looks ?? 0, "");
    for (const [step, count] of counts) report.also(step, count, "");
    if (report.figures.some(({ held }) => held === false)) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs both suites beside each other, and returns whether they passed. */
function runSuites(env: Record<string, string>): Promise<boolean> {
  const args = [join(root, "deploy/local/jest/run.mjs"), "-w", "2", ...suites];
  const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, ...env }, stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.on("exit", (code) => resolve(code === 0)).on("error", reject);
  });
}

function sumOf(all: readonly Killed[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const [step, count] of all.flatMap(({ counts }) => Object.entries(counts))) {
    sums.set(step, (sums.get(step) ?? 0) + count);
  }
  return sums;
}
