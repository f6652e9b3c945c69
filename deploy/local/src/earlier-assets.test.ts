import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "@jest/globals";
// @ts-expect-error it has no types
import { keepEarlierAssets } from "../earlier-assets.mjs";

const before = mkdtempSync(join(tmpdir(), "muster-before-"));
const next = mkdtempSync(join(tmpdir(), "muster-next-"));
afterAll(() => {
  for (const folder of [before, next]) rmSync(folder, { recursive: true });
});

it("a build of the console keeps earlier files for a day, and its own where both have the name", () => {
  for (const name of ["both.js", "earlier.js", "old.js"]) writeFileSync(join(before, name), "earlier");
  writeFileSync(join(next, "both.js"), "next");
  const nowMs = Date.now();
  const twoDaysAgo = new Date(nowMs - 2 * 86_400_000);
  utimesSync(join(before, "old.js"), twoDaysAgo, twoDaysAgo);
  keepEarlierAssets(before, next, nowMs);
  expect(readdirSync(next).sort()).toEqual(["both.js", "earlier.js"]);
  expect(readFileSync(join(next, "both.js"), "utf8")).toBe("next");
});
