import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Refusal } from "./refusal.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));

/** Installs what the lock file pins into the tree, and compiles it as a checkout is compiled. */
export function build({ tree, say }) {
  const began = performance.now();
  const { status } = spawnSync(process.execPath, [join(tree, "deploy", "local", "prepare.mjs")], {
    cwd: tree,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) throw new Error("the commit does not compile");
  say(`built: ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

/**
 * A part whose code is the tree's own, with the packages that its lock file pins; the first one builds the tree. A tree
 * that is older than this program has none: its images are made by the code here.
 *
 * @param {string} name of the part
 * @param {string} file in this folder
 * @param {string} exported name of the function in it that makes the part
 */
export function partOfTree(name, file, exported) {
  const make = async (context) => {
    const own = join(context.tree, "deploy", "release", file);
    const isOlder = !existsSync(own);
    if (isOlder && name !== "images") throw new Refusal("usage", `that commit has no ${name}: --only images or chart.`);
    if (isOlder) build({ ...context, tree: join(here, "..", "..") });
    if (!context.isBuilt) build(context);
    context.isBuilt = true;
    const part = await import(pathToFileURL(isOlder ? join(here, file) : own).href);
    await part[exported](context);
  };
  return { name, make };
}
