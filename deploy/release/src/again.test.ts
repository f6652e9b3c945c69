import { expect, it } from "@jest/globals";

const script = "../check/again.mjs";
const { differing } = (await import(script)) as { differing: (one: string, other: string) => string[] };

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
