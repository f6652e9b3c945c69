import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import type { Figure } from "./report.ts";
import { appendRun, currentFigures, type Run, readRuns } from "./results.ts";

const folder = mkdtempSync(join(tmpdir(), "muster-results-"));
afterAll(() => rmSync(folder, { recursive: true }));

const figure = (name: string, value: number): Figure => ({ name, value, unit: "ms", atMost: 10, held: value <= 10 });
const run = (time: string, ...figures: Figure[]): Run => ({
  ...{ time, commit: "0123456789ab", machine: "2 cores", load: [0.1, 2], command: "npm run bench -- read" },
  figures,
});

describe("results of a bench", () => {
  test("are read as they were appended, oldest first", () => {
    const runs = [run("2026-11-23T10:00:00.000Z", figure("p50", 3)), run("2026-11-24", figure("p50", 12))];
    for (const each of runs) appendRun(join(folder, "made"), "read", each);
    expect(readRuns(join(folder, "made"), "read")).toEqual(runs);
  });

  test("are none where nothing was recorded", () => {
    expect(readRuns(folder, "unknown")).toEqual([]);
  });

  test.each([
    ["time", { ...run("yesterday", figure("p50", 3)) }, "yesterday is no ISO time"],
    ["commit", { ...run("2026-11-23", figure("p50", 3)), commit: "" }, "commit is missing"],
    ["figures", run("2026-11-23"), "there are no figures"],
    ["held", run("2026-11-23", { ...figure("p50", 30), held: true }), "p50 is held: false, and the line says true"],
  ])("are refused with the number of the line where %s is wrong", (name, wrong, message) => {
    appendRun(folder, name, run("2026-11-22", figure("p50", 3)));
    appendFileSync(join(folder, `${name}.jsonl`), `${JSON.stringify(wrong)}\n`);
    expect(() => readRuns(folder, name)).toThrow(`${name}.jsonl:2: ${message}`);
  });

  test("keep the figures of other parts when one part is measured again", () => {
    const whole = run("2026-11-22", figure("rest", 3), figure("capacity", 20));
    const part = run("2026-11-23", figure("capacity", 9));
    const current = currentFigures([whole, part]).map((each) => [each.figure.name, each.figure.value, each.run.time]);
    expect(current).toEqual([
      ["rest", 3, "2026-11-22"],
      ["capacity", 9, "2026-11-23"],
    ]);
  });
});
