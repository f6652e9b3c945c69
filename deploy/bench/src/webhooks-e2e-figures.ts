import type { Report } from "./report.ts";

export const steps = ["idle", "rest", "capacity", "neighbour", "hanging", "dead", "kill"] as const;
export type Step = (typeof steps)[number];
/** A step of one round, by columns. */
export type Row = Record<string, string | number>;

/** Medians of the rounds of each step that was run. */
export function reportTo(report: Report, table: readonly Row[]): void {
  const values = (step: Step, column: string) =>
    table
      .filter((row) => row.step === step)
      .map((row) => Number(row[column]))
      .toSorted((a, b) => a - b);
  const median = (step: Step, column: string) => {
    const all = values(step, column);
    return all[Math.floor(all.length / 2)] ?? Number.NaN;
  };
  const has = (step: Step) => table.some((row) => row.step === step);
  if (has("rest")) {
    report.atMost("rest: arrival p50", median("rest", "arrival p50"), "ms", 0.3);
    report.atMost("rest: arrival p99", median("rest", "arrival p99"), "ms", 0.7);
    report.atMost("rest: a delivery's CPU", median("rest", "µs/delivery"), "µs", 400);
    report.also("rest: 202 p50", median("rest", "202 p50"), "ms");
  }
  if (has("capacity")) {
    report.atLeast("capacity", median("capacity", "events/s"), "events/s", 1_500);
    report.atMost("capacity: a delivery's CPU", median("capacity", "µs/delivery"), "µs", 250);
    report.also("capacity: arrival p99", median("capacity", "arrival p99"), "ms");
  }
  if (has("idle")) report.atMost("idle", median("idle", "% of a core"), "% of a core", 3);
  if (has("neighbour"))
    report.atMost("neighbour: longest arrival", values("neighbour", "max").at(-1) ?? 0, "ms", 5_000);
  for (const step of ["hanging", "dead"] as const) {
    if (!has(step) || !has("rest")) continue;
    const times = median(step, "arrival p99") / median("rest", "arrival p99");
    report.atMost(`${step}: arrival p99, of rest`, times, "×", 1.2);
  }
  const sum = (column: string) => table.reduce((total, row) => total + Number(row[column]), 0);
  report.none({ "lost events": sum("lost"), "silent repeats": sum("silent repeats") });
}
