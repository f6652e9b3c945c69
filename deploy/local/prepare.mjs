// Brings a checkout to where it can run, with nothing but Node and npm: packages, generated code, build. Each step is
// skipped when nothing changed, quiet when it works, and shown in full when it fails.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundled } from "./bundle.mjs";
import { keepEarlierAssets } from "./earlier-assets.mjs";
import { isInstalled } from "./installed.mjs";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const modules = join(root, "node_modules");

/**
 * With `client` the typed client and the console are made, too: tests and checks need them, a start makes them in
 * parallel with its other steps.
 */
export function prepare({ client = false } = {}) {
  install();
  generate();
  step("Compiling", process.execPath, [join(modules, "typescript", "bin", "tsc"), "-b"], { quietStart: built() });
  makeBundles();
  if (client) makeConsole();
}

/** Bundles each process of which a source, a library or a package changed. */
function makeBundles() {
  const libraries = readdirSync(join(root, "libs")).map((name) => join(root, "libs", name, "src"));
  const common = hash([
    ...[...libraries, join(root, "proto", "gen")].flatMap(sourcesOf),
    join(root, "deploy", "local", "bundle.mjs"),
    join(root, "package-lock.json"),
  ]);
  const inputs = bundled().map((folder) => ({
    folder,
    stamp: join(root, folder, "dist", "bundle", ".inputs"),
    wanted: `${common} ${hash(sourcesOf(join(root, folder, "src")))}`,
  }));
  const changed = inputs.filter(({ stamp, wanted }) => read(stamp) !== wanted);
  if (changed.length === 0) return;
  const script = join(root, "deploy", "local", "bundle.mjs");
  step("Bundling", process.execPath, [script, ...changed.map(({ folder }) => folder)], { quietStart: true });
  for (const { stamp, wanted } of changed) remember(stamp, wanted);
}

/** Builds the console that the gateway serves, and first the client that it calls the API with. */
export function makeConsole() {
  makeClient();
  const folder = join(root, "gateway", "console");
  const dist = join(folder, "dist");
  const stamp = join(modules, ".muster-console");
  const own = ["index.html", "sign-in.html", "portal.html", "vite.config.ts", "chunks.ts", "paths.ts", "package.json"];
  const generated = join(root, "libs", "client", "src", "generated");
  const wanted = hash([
    ...own.map((name) => join(folder, name)),
    ...sourcesOf(join(folder, "src")),
    ...sourcesOf(join(root, "libs", "client", "src")),
    // Of what is generated, types alone are not in the bundle.
    join(generated, "operations.ts"),
    join(generated, "access.ts"),
    join(root, "package-lock.json"),
  ]);
  if (existsSync(join(dist, "paths.json")) && read(stamp) === wanted) return;
  // Built in another folder and moved into place as a whole: a gateway that starts meanwhile serves the old build or
  // the new one.
  const out = join(folder, "node_modules", `.build-${process.pid}`);
  step("Building the console", process.execPath, [join(modules, "vite", "bin", "vite.js"), "build", folder], {
    quietStart: true,
    env: { ...process.env, CONSOLE_OUT: out, NODE_ENV: "production" },
  });
  keepEarlierAssets(join(dist, "assets"), join(out, "assets"));
  rmSync(dist, { recursive: true, force: true });
  try {
    renameSync(out, dist);
  } catch (error) {
    // Another start of this checkout was first: its build is of the same sources.
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    rmSync(out, { recursive: true });
  }
  remember(stamp, wanted);
}

function makeClient() {
  const folder = join(root, "libs", "client");
  const stamp = join(modules, ".muster-client");
  // The types are made of what is compiled: sources that were edited since would be stamped over types of before.
  const compiled = ["gateway/dist", "libs/kit/dist"].flatMap((path) => filesOf(join(root, path), /\.js$/));
  const sources = ["libs/client/src", "deploy/cli/src"].flatMap((path) => sourcesOf(join(root, path)));
  const wanted = hash([...compiled, ...sources, join(folder, "generate.mjs"), join(root, "package-lock.json")]);
  const outputs = [
    "src/generated/schema.ts",
    "src/generated/operations.ts",
    "src/generated/access.ts",
    "src/generated/fields.ts",
    "dist/index.js",
    "../../deploy/cli/dist/main.js",
  ];
  if (outputs.every((file) => existsSync(join(folder, file))) && read(stamp) === wanted) return;
  step("Making the types of the client", process.execPath, [join(folder, "generate.mjs")], { quietStart: true });
  // The command line tool uses the client: both are compiled.
  const cli = join(root, "deploy", "cli");
  step("Compiling the client", process.execPath, [join(modules, "typescript", "bin", "tsc"), "-b", cli], {
    quietStart: true,
  });
  remember(stamp, wanted);
}

const sourcesOf = (folder) => filesOf(folder, /(?<!\.test)\.(tsx?|css|svg)$/);

function filesOf(folder, wanted) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return entry.name === "generated" ? [] : filesOf(path, wanted);
      return wanted.test(entry.name) ? [path] : [];
    })
    .sort();
}

function install() {
  const lock = join(root, "package-lock.json");
  const stamp = join(modules, ".muster-install");
  const wanted = hash([lock]);
  if (read(stamp) === wanted) return;
  // npm's own record: `npm install` or `npm ci` by hand came after the last change of the lock file.
  const installed = join(modules, ".package-lock.json");
  const isOlder = existsSync(installed) && statSync(installed).mtimeMs < statSync(lock).mtimeMs;
  const parsed = (file) => JSON.parse(readFileSync(file, "utf8"));
  if (!existsSync(installed) || (isOlder && !isInstalled(parsed(lock), parsed(installed)))) {
    const npm = process.env.npm_execpath?.endsWith(".js") ? [process.execPath, process.env.npm_execpath] : ["npm"];
    step("Installing packages (npm ci)", npm[0], [
      ...npm.slice(1),
      "ci",
      "--no-audit",
      "--no-fund",
      "--loglevel=error",
    ]);
  }
  remember(stamp, wanted);
}

function generate() {
  const proto = join(root, "proto");
  const stamp = join(modules, ".muster-proto");
  const files = protoFiles(proto);
  const plugin = join(modules, "@bufbuild", "protoc-gen-es", "package.json");
  const inputs = [...files, join(root, "buf.yaml"), join(root, "buf.gen.yaml"), plugin];
  const outputs = files.map((file) => generated(proto, file));
  // Outputs, too: `npm run generate` on another branch leaves that one's code here.
  const state = () => hash([...inputs, ...outputs]);
  if (outputs.every((file) => existsSync(file)) && read(stamp) === state()) return;
  step("Generating code from proto", process.execPath, [join(modules, "@bufbuild", "buf", "bin", "buf"), "generate"]);
  remember(stamp, state());
}

function generated(proto, file) {
  return join(proto, "gen", `${file.slice(proto.length + 1, -".proto".length)}_pb.ts`);
}

function protoFiles(folder) {
  const skipped = new Set(["gen", "dist", "node_modules"]);
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return skipped.has(entry.name) ? [] : protoFiles(path);
      return entry.name.endsWith(".proto") ? [path] : [];
    })
    .sort();
}

function built() {
  return existsSync(join(root, "gateway", "dist", "main.js"));
}

function step(title, program, args, { quietStart = false, env = process.env } = {}) {
  const began = performance.now();
  if (!quietStart) console.error(`${title} …`);
  const shell = process.platform === "win32" && program === "npm";
  const result = spawnSync(program, args, { cwd: root, encoding: "utf8", maxBuffer: 64 << 20, shell, env });
  if (result.signal) process.exit(130);
  if (result.status !== 0) {
    if (quietStart) console.error(`${title} …`);
    console.error(`${result.stdout ?? ""}${result.stderr ?? ""}`.trim() || result.error?.message);
    console.error(`${title} failed after ${seconds(began)} (${[program, ...args].join(" ")}).`);
    process.exit(1);
  }
  if (performance.now() - began > 5_000) console.error(`${title}: done in ${seconds(began)}`);
}

function seconds(began) {
  return `${((performance.now() - began) / 1000).toFixed(1)} s`;
}

function hash(files) {
  const sum = createHash("sha256");
  for (const file of files) {
    const content = readFileSync(file);
    sum.update(`${file.slice(root.length)} ${content.length}\n`).update(content);
  }
  return sum.digest("hex");
}

function read(file) {
  return existsSync(file) ? readFileSync(file, "utf8") : null;
}

function remember(stamp, value) {
  try {
    writeFileSync(stamp, value);
  } catch (error) {
    // A checkout that is another user's: the step runs again next time.
    if (!["EACCES", "EPERM", "EROFS"].includes(error.code)) throw error;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) prepare({ client: true });
