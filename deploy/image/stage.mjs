// node stage.mjs SERVICE OUT: the folder /app of a service's image, made from a compiled checkout: production packages
// only, its own and its libraries' compiled code, and sbom.cdx.json. OUT/service is a link to the service's folder.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { settledSbom } from "./sbom.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const read = (folder) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));

/** Folder of every workspace, by its package's name. */
function workspaces() {
  const found = new Map();
  for (const pattern of read(".").workspaces) {
    const parent = pattern.replace(/\/\*$/, "");
    const listed = parent === pattern ? [pattern] : readdirSync(join(root, parent)).map((name) => `${parent}/${name}`);
    for (const folder of listed) {
      if (existsSync(join(root, folder, "package.json"))) found.set(read(folder).name, folder);
    }
  }
  return found;
}

/** The packages of ours that a package needs at run time, itself first. */
function closure(name, folders) {
  const found = new Set([name]);
  for (const each of found) {
    for (const dependency of Object.keys(read(folders.get(each)).dependencies ?? {})) {
      if (folders.has(dependency)) found.add(dependency);
    }
  }
  return [...found].map((each) => folders.get(each));
}

/** What runs; sources, tests, and what only compilers and people read stay behind. */
const leftOut =
  /(^|\/)(src|e2e|node_modules|package\.json|README\.md|tsconfig[^/]*\.json)$|(^|\/)gateway\/console\/[^/]+\.(html|ts|mjs)$|\.test\.[a-z.]+$|\.d\.ts(\.map)?$|\.tsbuildinfo$/;
const notNeeded = /\.d\.[cm]?ts$|\.map$|\.md$|\.tsbuildinfo$/i;

const write = (out, path, value) => writeFileSync(join(out, path), `${JSON.stringify(value, null, 2)}\n`);

function prune(folder) {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isFile() && notNeeded.test(entry.name)) rmSync(join(entry.parentPath ?? entry.path, entry.name));
  }
}

export function stage(service, out) {
  const folders = workspaces();
  const own = folders.get(`@muster/${service}`);
  if (!own || !(own === "gateway" || own.startsWith("services/"))) {
    const services = [...folders].filter(([, folder]) => /^(gateway$|services\/)/.test(folder));
    throw new Error(
      `"${service}" is no service: use one of ${services.map(([name]) => name.split("/")[1]).join(", ")}`,
    );
  }
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const needed = closure(`@muster/${service}`, folders);
  // Workspaces and development packages that are left out here are not installed; the lock file still pins the
  // versions.
  for (const file of ["package-lock.json", ".npmrc"]) cpSync(join(root, file), join(out, file));
  const { name, version, license, type, engines } = read(".");
  write(out, "package.json", { name, version, private: true, license, type, engines, workspaces: needed });
  for (const folder of needed) {
    const { devDependencies, scripts, ...manifest } = read(folder);
    mkdirSync(join(out, folder), { recursive: true });
    write(out, `${folder}/package.json`, manifest);
  }
  const npm = (...args) =>
    execFileSync("npm", args, {
      cwd: out,
      encoding: "utf8",
      maxBuffer: 64 << 20,
      stdio: ["ignore", "pipe", "inherit"],
    });
  npm("install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline");
  const sbom = npm("sbom", "--omit=dev", "--sbom-format=cyclonedx");
  write(out, "sbom.cdx.json", settledSbom(sbom, `muster-${service}`));
  for (const folder of needed) {
    const from = join(root, folder);
    if (!existsSync(join(from, "dist"))) throw new Error(`${folder} is not compiled: npm run build`);
    cpSync(from, join(out, folder), {
      recursive: true,
      filter: (path) => path === from || !leftOut.test(path.slice(root.length)),
    });
  }
  // The programs of the image are the bundles, under the names of what is compiled.
  const bundle = join(out, own, "dist", "bundle");
  for (const name of readdirSync(bundle).filter((file) => /^(main|retention-main)\.js$/.test(file))) {
    writeFileSync(join(out, own, "dist", name), `import "./bundle/${name}";\n`);
  }
  for (const folder of ["node_modules", ...needed.map((each) => `${each}/node_modules`)]) prune(join(out, folder));
  rmSync(join(out, "node_modules/.cache"), { recursive: true, force: true });
  symlinkSync(own, join(out, "service"));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [service, out] = process.argv.slice(2);
  if (!service || !out) throw new Error("usage: node stage.mjs SERVICE OUT");
  stage(service, out);
}
