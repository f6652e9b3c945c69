import { expect, it } from "@jest/globals";

type Lock = { packages: Record<string, object> };
// It has no types: prepare.mjs reads it before anything is compiled.
const file = "../installed.mjs";
const { isInstalled }: { isInstalled(lock: Lock, record: Lock): boolean } = await import(file);

const a = { version: "1.0.0", integrity: "sha512-a" };
const own = { "libs/kit": { version: "0.1.0" }, "node_modules/@muster/kit": { resolved: "libs/kit", link: true } };
const lock = (packages: object): Lock => ({ packages: { "": { version: "0.1.0" }, ...own, ...packages } });
const record = { packages: { ...own, "node_modules/a": a } };

it.each([
  ["the same packages", { "node_modules/a": a }],
  ["another version of our own", { "node_modules/a": a, "": { version: "0.2.0" }, "libs/kit": { version: "0.2.0" } }],
  ["a package of another platform", { "node_modules/a": a, "node_modules/b": { ...a, optional: true } }],
])("nothing is installed for %s", (_what, packages) => {
  expect(isInstalled(lock(packages), record)).toBe(true);
});

it.each([
  ["another version", { "node_modules/a": { ...a, version: "1.0.1" } }],
  ["other bytes", { "node_modules/a": { ...a, integrity: "sha512-b" } }],
  ["one more package", { "node_modules/a": a, "libs/kit/node_modules/b": a }],
  ["a package that was removed", {}],
])("packages are installed for %s", (_what, packages) => {
  expect(isInstalled(lock(packages), record)).toBe(false);
});
