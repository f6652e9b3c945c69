import { chmodSync, copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { rolldown } from "rolldown";
import { packTgz, pathsIn } from "./archive.mjs";
import { cliBundle } from "./npm/cli-bundle.mjs";
import { clientManifest, cliManifest, programFiles, sizeLimits, withJsImports } from "./npm/manifests.mjs";
import { scoped } from "./npm/scope.mjs";
import { bundleTo, fillServer } from "./npm/server.mjs";
import { packagesOf, writeBill } from "./sbom.mjs";

const nameOf = (scope, name, version) => `${scope.slice(1)}-${name}-${version}.tgz`;

/** Writes the packages of npm as `npm pack` would, each with a bound of its size. */
export async function makePackages(context) {
  for (const [name, fill] of [
    ["cli", fillCli],
    ["client", fillClient],
    ["server", fillServer],
  ]) {
    const parent = join(context.work, "npm", name);
    const folder = join(parent, "package");
    mkdirSync(folder, { recursive: true });
    await fill(context, folder);
    const file = join(context.out, nameOf(context.scope, name, context.version));
    await packTgz(file, parent, context.epoch);
    const { size } = statSync(file);
    context.say(`  ${name}: ${(size / 1000).toFixed(0)} KB`);
    if (size > sizeLimits[name]) throw new Error(`${file} has ${size} bytes, more than ${sizeLimits[name]}`);
  }
}

const writeJson = (path, value) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);

async function fillCli(context, folder) {
  const { tree, version, scope, source } = context;
  writeJson(join(folder, "package.json"), cliManifest({ version, scope, source }));
  const readme = readFileSync(join(tree, "deploy/release/npm/cli.md"), "utf8");
  writeFileSync(join(folder, "README.md"), scoped(readme, scope));
  copyFileSync(join(tree, "LICENSE"), join(folder, "LICENSE"));
  const build = await rolldown(cliBundle("cli-entry.mjs", { version, scope }));
  const { output } = await build.write({ file: join(folder, "dist/cli.js"), format: "esm", codeSplitting: false });
  await build.close();
  const ofKeys = await fillKeys(tree, folder);
  const modules = [...output.flatMap(({ modules = {} }) => Object.keys(modules)), ...ofKeys];
  writeBill(context, "cli", packagesOf(modules));
  mkdirSync(join(folder, "bin"));
  for (const [name, text] of programFiles()) {
    writeFileSync(join(folder, "bin", name), text);
    chmodSync(join(folder, "bin", name), 0o755);
  }
}

/** The maker of a cluster's keys and what it copies, in the folders of a checkout. Returns the paths of its modules. */
async function fillKeys(tree, folder) {
  for (const path of ["deploy/sql/roles.sql", "deploy/nats/nats-server.conf", "deploy/nats/permissions.conf"]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(join(tree, path), join(folder, path));
  }
  const at = "deploy/local/dist";
  return bundleTo(tree, folder, at, { "cluster-keys.js": join(tree, "deploy/local/src/cluster-keys.ts") });
}

async function fillClient(context, folder) {
  const { tree, version, scope, source } = context;
  const from = join(tree, "libs", "client");
  const own = JSON.parse(readFileSync(join(from, "package.json"), "utf8"));
  writeJson(join(folder, "package.json"), clientManifest({ version, scope, source }, own));
  writeFileSync(join(folder, "README.md"), scoped(readFileSync(join(from, "README.md"), "utf8"), scope));
  copyFileSync(join(tree, "LICENSE"), join(folder, "LICENSE"));
  for (const path of pathsIn(join(from, "dist")).filter((each) => /(?<!\.test)(\.d\.ts|\.js)$/.test(each))) {
    mkdirSync(dirname(join(folder, "dist", path)), { recursive: true });
    writeFileSync(join(folder, "dist", path), withJsImports(readFileSync(join(from, "dist", path), "utf8")));
  }
  const needed = ["openapi-fetch", "openapi-typescript-helpers"].map((name) =>
    join(tree, "node_modules", name, "index.js"),
  );
  writeBill(context, "client", packagesOf(needed));
}
