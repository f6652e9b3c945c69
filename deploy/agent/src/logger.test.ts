import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, jest } from "@jest/globals";
import { openSpool } from "@muster/agent";
import { createLogger } from "./logger.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "muster-logger-"));
  jest.spyOn(process.stderr, "write").mockReturnValue(true);
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

it("says how many of its oldest entries were dropped when nothing was accepted for long", () => {
  const spool = openSpool(join(folder, "spool"), 5 * 1024 * 1024);
  const log = createLogger({ file: join(folder, "agent.log"), level: "info", spool });
  const message = "x".repeat(1024 * 1024);
  for (let n = 0; n < 6; n++) log("info", "test", message);
  const entries = [];
  for (let batch = spool.next(1, 1); batch !== null; batch = spool.next(1, 1)) {
    entries.push(...batch.lines.map((line) => JSON.parse(line)));
    batch.done();
  }
  const lost = entries.filter(({ component }) => component === "logs");
  const kept = entries.length - lost.length;
  expect(kept).toBeLessThan(6);
  expect(lost.reduce((sum, { fields }) => sum + fields.count, 0)).toBe(6 - kept);
  expect(new Set(lost.map(({ level }) => level))).toEqual(new Set(["warn"]));
});
