import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, it } from "@jest/globals";

type Differences = {
  differing(one: string, other: string): string[];
  differencesIn(path: string, folders: [string, string], work: string): Promise<string[]>;
};
const script = "../check/differences.mjs";
const { differing, differencesIn } = (await import(script)) as Differences;

const lines = (files: Record<string, string>) =>
  Object.entries(files)
    .map(([path, sum]) => `${sum.repeat(64)}  ${path}\n`)
    .join("");
const release = { "notes.md": "a", "sbom/npm cli.json": "b", "muster-1.0.0.tgz": "c" };

it.each([
  ["nothing, of the same files", release, []],
  ["a file with other bytes", { ...release, "sbom/npm cli.json": "d" }, ["sbom/npm cli.json"]],
  ["a file that one alone has", { ...release, more: "e" }, ["more"]],
  [
    "each once, in order",
    { "notes.md": "f", more: "e" },
    ["more", "muster-1.0.0.tgz", "notes.md", "sbom/npm cli.json"],
  ],
])("two releases differ in %s", (_name, other, found) => {
  expect(differing(lines(release), lines(other))).toEqual(found);
  expect(differing(lines(other), lines(release))).toEqual(found);
});

const folder = mkdtempSync(join(tmpdir(), "muster-again-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A release of one archive that holds these files, of this time (seconds). */
function releaseOf(name: string, members: Record<string, string>, time = 0) {
  const [to, from] = [join(folder, name), join(folder, `${name}-files`)];
  mkdirSync(to, { recursive: true });
  for (const [path, text] of Object.entries(members)) {
    mkdirSync(dirname(join(from, path)), { recursive: true });
    writeFileSync(join(from, path), text);
    utimesSync(join(from, path), time, time);
  }
  execFileSync("tar", ["-cf", join(to, "a.tar"), "-C", from, ...Object.keys(members)]);
  return to;
}

it("names the members that differ, those of an image's layer without its digest", async () => {
  const blob = (digit: string) => `blobs/sha256/${digit.repeat(64)}`;
  const one = releaseOf("one", { "package/a.js": "1", "package/b.js": "2", [blob("a")]: "{1}" });
  const other = releaseOf("other", { "package/a.js": "1", "package/b.js": "3", [blob("b")]: "{2}" });
  const work = join(folder, "work");
  expect(await differencesIn("a.tar", [one, other], work)).toEqual(["a.tar/blobs/json", "a.tar/package/b.js"]);
  const later = releaseOf("later", { "package/a.js": "1", "package/b.js": "2", [blob("a")]: "{1}" }, 3600);
  expect(await differencesIn("a.tar", [one, later], work)).toEqual([
    "its members are the same: their order, modes, times or compression differ",
  ]);
  expect(await differencesIn("a.tar", [one, join(folder, "none")], work)).toEqual(["only one release has it"]);
});
