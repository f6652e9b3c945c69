// Loads TypeScript straight from the sources, for tests: packages of this repository by their condition "source".
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { transform } from "@swc/core";

const globals = new URL("globals.mjs", import.meta.url).href;
const options = {
  jsc: { parser: { syntax: "typescript" }, target: "es2023" },
  module: { type: "es6" },
  sourceMaps: "inline",
  swcrc: false,
};

export async function resolve(specifier, context, next) {
  if (specifier === "@jest/globals") return { url: globals, format: "module", shortCircuit: true };
  return next(specifier, { ...context, conditions: ["source", ...context.conditions] });
}

export async function load(url, context, next) {
  if (!/^file:.*\.ts(\?|$)/.test(url)) return next(url, context);
  const filename = fileURLToPath(url);
  const { code } = await transform(await readFile(filename, "utf8"), { ...options, filename });
  return { format: "module", source: code, shortCircuit: true };
}
