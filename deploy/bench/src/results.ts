import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";
import { join } from "node:path";
import { type Figure, isHeld, isLimited } from "./report.ts";

/**
 * One line of docs/performance/results/<bench>.jsonl. `time` is ISO 8601; `load` the load average before and after the
 * run, null where it was not noted; `note` says what the other fields cannot. A `transcribed` run was taken from an
 * older page; its commit is the one that brought it there.
 */
export type Run = {
  time: string;
  commit: string;
  machine: string;
  load: readonly [before: number, after: number] | null;
  command: string;
  figures: readonly Figure[];
  note?: string;
  transcribed?: boolean;
};

/** The newest value of a figure, and the run that measured it. */
export type Current = { figure: Figure; run: Run };

const fileOf = (folder: string, bench: string) => join(folder, `${bench}.jsonl`);

export function appendRun(folder: string, bench: string, run: Run): void {
  mkdirSync(folder, { recursive: true });
  appendFileSync(fileOf(folder, bench), `${JSON.stringify(run)}\n`);
}

/** The runs of a bench, oldest first; throws an Error that names a line that is none. */
export function readRuns(folder: string, bench: string): Run[] {
  const file = fileOf(folder, bench);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line, index) => {
    try {
      return parsedRun(line);
    } catch (error) {
      throw new Error(`${bench}.jsonl:${index + 1}: ${(error as Error).message}`, { cause: error });
    }
  });
}

function parsedRun(line: string): Run {
  const run = JSON.parse(line) as Run;
  for (const name of ["time", "commit", "machine", "command"] as const) {
    if (typeof run[name] !== "string" || run[name] === "") throw new Error(`${name} is missing`);
  }
  if (Number.isNaN(Date.parse(run.time))) throw new Error(`${run.time} is no ISO time`);
  if (run.figures.length === 0) throw new Error("there are no figures");
  for (const figure of run.figures) {
    const held = isLimited(figure) ? isHeld(figure) : undefined;
    if (held !== figure.held) throw new Error(`${figure.name} is held: ${held}, and the line says ${figure.held}`);
  }
  return run;
}

/**
 * Of each figure the newest value, so that a run of one part of a bench leaves those of the other parts. The run with
 * most figures comes first.
 */
export function currentFigures(runs: readonly Run[]): Current[] {
  const newest = new Map<string, Current>();
  const fullest = runs.toSorted((a, b) => b.figures.length - a.figures.length);
  for (const run of fullest) for (const figure of run.figures) newest.set(figure.name, { figure, run });
  for (const run of runs) for (const figure of run.figures) newest.set(figure.name, { figure, run });
  return [...newest.values()];
}

/** What the figures depend on: processors, memory, Node, and the processor time of a request to a bare server, µs. */
export function thisMachine(bareUs: number): string {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const processors = `${availableParallelism()} × ${cpu?.model.trim() ?? "unknown processor"}`;
  return `${processors}, ${memory} GiB, Node ${process.versions.node}, bare node:http ${bareUs.toFixed(1)} µs a request`;
}

/** The commit of a checkout, with `+` where tracked files differ from it. */
export function commitOf(root: string): string {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  const isChanged = git("status", "--porcelain", "--untracked-files=no") !== "";
  return `${git("rev-parse", "--short=12", "HEAD")}${isChanged ? "+" : ""}`;
}
