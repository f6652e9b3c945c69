// Loads TypeScript directly from the sources, for tests: packages of this repository by their condition "source", and
// again for each test file.
import { readFile, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { transform } from "@swc/core";
import { switched } from "../../mutation/switched.mjs";

const root = new URL("../../../", import.meta.url).href;
const globals = new URL("globals.mjs", import.meta.url).href;
const options = {
  jsc: { parser: { syntax: "typescript" }, target: "es2023" },
  module: { type: "es6" },
  sourceMaps: "inline",
  swcrc: false,
};

/** Sources that may hold state. What is generated from the contract holds none. */
const isOwn = (url) => url.startsWith(root) && !/\/(node_modules|dist|gen)\//.test(url.slice(root.length - 1));

/** Where each specifier led, by the file that names it without the number of its run. */
const resolved = new Map();

export async function resolve(specifier, context, next) {
  if (specifier === "@jest/globals") return { url: globals, format: "module", shortCircuit: true };
  const [parent, run] = context.parentURL?.split("?run=") ?? [];
  if (run === undefined) return next(specifier, { ...context, conditions: ["source", ...context.conditions] });
  const key = `${parent} ${specifier}`;
  let found = resolved.get(key);
  if (found === undefined) {
    found = await next(specifier, { ...context, conditions: ["source", ...context.conditions] });
    resolved.set(key, found);
  }
  return { ...found, shortCircuit: true, url: isOwn(found.url) ? `${found.url}?run=${run}` : found.url };
}

/** Mutants of sources by their paths, while they are tried (deploy/mutation): the file that TEST_MUTANTS names. */
const list = process.env.TEST_MUTANTS;
const mutants = list === undefined ? {} : JSON.parse(await readFile(list, "utf8"));

/** Erased sources, with the time of the file they are of. */
const sources = new Map();

async function sourceOf(filename) {
  const { mtimeMs } = await stat(filename);
  const cached = sources.get(filename);
  if (cached?.mtimeMs === mtimeMs) return cached.code;
  const source = switched(await readFile(filename, "utf8"), mutants[filename] ?? []);
  const { code } = await transform(source, { ...options, filename });
  sources.set(filename, { mtimeMs, code });
  return code;
}

export async function load(url, context, next) {
  if (!/^file:.*\.ts(\?|$)/.test(url)) return next(url, context);
  return { format: "module", source: await sourceOf(fileURLToPath(url)), shortCircuit: true };
}
