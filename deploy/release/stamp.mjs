// node stamp.mjs VERSION: writes a version into the checkout, wherever it stands: packages, lock file, chart,
// Dockerfile.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const version = (text, value) => text.replace(/("version": ")[^"]+(")/, `$1${value}$2`);

/** Folders of the workspaces of a checkout. */
export function workspacesOf(root) {
  const { workspaces } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return workspaces.flatMap((pattern) => {
    const parent = pattern.replace(/\/\*$/, "");
    const folders = parent === pattern ? [pattern] : readdirSync(join(root, parent)).map((name) => `${parent}/${name}`);
    return folders.filter((folder) => existsSync(join(root, folder, "package.json")));
  });
}

function lockOf(text, value, workspaces) {
  const lock = JSON.parse(text);
  lock.version = value;
  for (const folder of ["", ...workspaces]) {
    if (lock.packages[folder]?.version !== undefined) lock.packages[folder].version = value;
  }
  return `${JSON.stringify(lock, null, 2)}\n`;
}

/** Writes a version into a checkout; a second time changes nothing. */
export function stamp(root, value) {
  const edit = (path, change) => writeFileSync(join(root, path), change(readFileSync(join(root, path), "utf8")));
  const workspaces = workspacesOf(root);
  for (const folder of ["", ...workspaces]) edit(join(folder, "package.json"), (text) => version(text, value));
  edit("package-lock.json", (text) => lockOf(text, value, workspaces));
  edit("charts/muster/Chart.yaml", (text) => text.replace(/^(version|appVersion): .*$/gm, `$1: ${value}`));
  edit("deploy/Dockerfile", (text) => text.replace(/^(ARG VERSION=).*$/m, `$1${value}`));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [value] = process.argv.slice(2);
  if (!/^\d+\.\d+\.\d+(-[\w.-]+)?$/.test(value ?? "")) {
    process.stderr.write("usage: node stamp.mjs VERSION\n");
    process.exit(2);
  }
  stamp(fileURLToPath(new URL("../../", import.meta.url)), value);
}
