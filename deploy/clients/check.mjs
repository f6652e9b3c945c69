// Part of `npm run check`: generates a client in TypeScript, Go and Python from the OpenAPI document of the compiled
// gateway, and compiles each. A language whose tools are not on this machine, nor to be had, is "not run". What
// compiled once is remembered for the whole machine by a hash of all that went in.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openApiDocument } from "../../gateway/dist/openapi/document.js";
import { routes } from "../../gateway/dist/routes/index.js";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "..", "..");
const cache =
  process.env.MUSTER_CLIENTS_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "muster-clients");
/** Milliseconds of one step; the longest compiles a generator. */
const stepMs = 600_000;

/** A tool is missing, or the network that it comes from: nothing is known about the document. */
class NotRun extends Error {}

/**
 * By name: `inputs` are the files that decide besides the document, `version` the tool that must be there, `compile`
 * gets a folder with `openapi.json`. It throws NotRun, or an Error with the tool's output.
 */
const languages = {
  TypeScript: { inputs: ["typescript"], version: () => process.version, compile: compileTypeScript },
  Go: { inputs: ["go"], version: () => toolVersion("go", ["version"]), compile: compileGo },
  Python: { inputs: ["python"], version: () => toolVersion("python3", ["--version"]), compile: compilePython },
};

/**
 * The types that prepare.mjs has made of the document: a program compiles, one with a value that is on no list does
 * not.
 */
function compileTypeScript(folder) {
  cpSync(join(root, "libs", "client", "src", "generated", "schema.ts"), join(folder, "schema.ts"));
  cpSync(join(here, "typescript", "use.ts"), join(folder, "use.ts"));
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--types", ""];
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  run(process.execPath, [tsc, ...options, "--allowImportingTsExtensions", "use.ts"], { cwd: folder });
}

function compileGo(folder) {
  for (const name of ["go.mod", "go.sum"]) cpSync(join(here, "go", name), join(folder, name));
  const env = { ...process.env, GOTOOLCHAIN: "local", GOFLAGS: "-mod=mod" };
  prepared("go", ["mod", "download"], { cwd: folder, env });
  prepared("go", ["build", "-o", "generator", "tool"], { cwd: folder, env });
  const wanted = ["-generate", "types,client", "-package", "musterclient", "-o", "client.go", "openapi.json"];
  run(join(folder, "generator"), wanted, { cwd: folder });
  run("go", ["build", "./..."], { cwd: folder, env });
}

function compilePython(folder) {
  const env = { ...process.env, PYTHONPATH: pythonPackages() };
  const config = join(here, "python", "config.yml");
  const wanted = ["--path", "openapi.json", "--output-path", "client", "--meta", "none", "--config", config];
  run("python3", ["-m", "openapi_python_client", "generate", ...wanted, "--fail-on-warning"], { cwd: folder, env });
  run("python3", ["-m", "mypy", "--cache-dir", "none", "client"], { cwd: folder, env });
}

/** Installs the generator once for this machine's Python; the folder is moved into place as a whole. */
function pythonPackages() {
  const requirements = join(here, "python", "requirements.txt");
  const version = toolVersion("python3", ["--version"]);
  const folder = join(cache, `python-${hash([version, readFileSync(requirements)]).slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const fresh = mkdtempSync(`${folder}-`);
  const quick = ["--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "15"];
  try {
    prepared("python3", ["-m", "pip", "install", ...quick, "--target", fresh, "-r", requirements], {});
    moveInto(fresh, folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return folder;
}

/** Another check may have come first: then its folder stays. */
function moveInto(fresh, folder) {
  try {
    renameSync(fresh, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}

function toolVersion(program, args) {
  const { status, stdout } = spawnSync(program, args, { encoding: "utf8", timeout: stepMs });
  if (status !== 0) throw new NotRun(`${program} is not installed`);
  return stdout.trim();
}

/** A step that may fail for lack of a tool or of the network. */
function prepared(program, args, options) {
  try {
    run(program, args, options);
  } catch (error) {
    throw new NotRun(`${[basename(program), ...args.slice(0, 3)].join(" ")}: ${lastLine(error.message)}`);
  }
}

function run(program, args, options) {
  const result = spawnSync(program, args, { encoding: "utf8", timeout: stepMs, maxBuffer: 64 << 20, ...options });
  if (result.status === 0) return;
  throw new Error(`${result.stdout ?? ""}${result.stderr ?? ""}`.trim() || String(result.error ?? result.signal));
}

const lastLine = (text) => text.trim().split("\n").at(-1)?.slice(0, 200);

function hash(parts) {
  const sum = createHash("sha256");
  for (const part of parts) sum.update(`${part.length}\n`).update(part);
  return sum.digest("hex");
}

const filesIn = (folder) => readdirSync(folder).map((name) => readFileSync(join(folder, name)));

/** The outcome of one language: null, or what is wrong. Throws NotRun. */
function check({ inputs, version, compile }, document) {
  const files = [...inputs.flatMap((name) => filesIn(join(here, name))), readFileSync(join(here, "check.mjs"))];
  const lock = readFileSync(join(root, "package-lock.json"));
  const passed = join(cache, "passed", hash([document, version(), lock, ...files]));
  if (existsSync(passed)) return null;
  const folder = mkdtempSync(join(tmpdir(), "muster-clients-"));
  try {
    writeFileSync(join(folder, "openapi.json"), document);
    compile(folder);
  } catch (error) {
    if (error instanceof NotRun) throw error;
    return error.message;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  mkdirSync(join(cache, "passed"), { recursive: true });
  writeFileSync(passed, "");
  return null;
}

const document = JSON.stringify(openApiDocument(routes, { version: "0" }));
for (const [name, language] of Object.entries(languages)) {
  try {
    const failure = check(language, document);
    if (failure === null) continue;
    console.error(`a generated ${name} client does not compile:\n${failure.slice(-8_000)}`);
    process.exitCode = 1;
  } catch (error) {
    if (!(error instanceof NotRun)) throw error;
    console.log(`not run: a generated ${name} client (${error.message})`);
  }
}
