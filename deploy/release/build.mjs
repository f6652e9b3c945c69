import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

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
 * A part whose code is the tree's own, with the packages that its lock file pins; the first one builds the tree.
 *
 * @param {string} name of the part
 * @param {string} file in this folder
 * @param {string} exported name of the function in it that makes the part
 */
export function partOfTree(name, file, exported) {
  const make = async (context) => {
    if (!context.isBuilt) build(context);
    context.isBuilt = true;
    const part = await import(pathToFileURL(join(context.tree, "deploy", "release", file)).href);
    await part[exported](context);
  };
  return { name, make };
}
