import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "@jest/globals";

type Parts = { lives: string[]; sampled: string[]; long: string[]; leftOut(part: string | undefined): string[] };
const script = "../jest/parts.mjs";
const root = fileURLToPath(new URL("../../../", import.meta.url));
const inRoot = (name: string) => join(root, name);
const e2e = inRoot("gateway/e2e");

let parts: Parts;
beforeAll(async () => {
  parts = (await import(script)) as Parts;
});

const skipped = ["node_modules", "dist", ".muster", ".git"];
const suites = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !skipped.includes(entry.name))
  .flatMap(({ name }) => suitesIn(join(root, name)));

function suitesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return skipped.includes(entry.name) ? [] : suitesIn(path);
    return entry.name.endsWith(".test.ts") ? [path] : [];
  });
}

const runs = (part: string, path: string) => !parts.leftOut(part).some((pattern) => new RegExp(pattern).test(path));

describe("the two parts of all suites", () => {
  it("leave out none, and share those that run a sample in the first", () => {
    const both = parts.sampled.map((name) => join(e2e, `${name}.test.ts`));
    const countOf = (path: string) => Number(runs("first", path)) + Number(runs("rest", path));
    expect(suites.length).toBeGreaterThan(400);
    expect(suites.filter((path) => countOf(path) !== (both.includes(path) ? 2 : 1))).toEqual([]);
  });

  it("name suites that exist", () => {
    const paths = [...[...parts.lives, ...parts.sampled].map((name) => join(e2e, name)), ...parts.long.map(inRoot)];
    const missing = paths.filter((path) => !existsSync(`${path}.test.ts`));
    expect(missing).toEqual([]);
  });

  it("have one cluster, no killed process and no browser in the first", () => {
    const costly = /\b(ownCluster|lentCluster|killedOnce|startCluster|startVisitor|chromium)\b|\bprocess\.kill\(/;
    const named = [...parts.lives, ...parts.sampled].filter((name) =>
      costly.test(readFileSync(join(e2e, `${name}.test.ts`), "utf8")),
    );
    expect(named).toEqual([]);
  });

  it("are two: another name is refused, none leaves out nothing", () => {
    expect(() => parts.leftOut("last")).toThrow('TEST_PART is "last": it is first or rest');
    expect(parts.leftOut(undefined)).toEqual([]);
  });
});
