// `npm run test:mutation -- [--every N] [--from N] [FILE…]`: changes one expression after the other of what decides
// (rules of services, the gateway's auth and http, the guards of libs/rpc) and runs the tests that use the file, which
// is never changed on the disk. Prints each mutant that no test finds, and the share that is found; status 1 below 85
// %. By default every tenth mutant.
import "../local/check-node.mjs";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { prepare, root } from "../local/prepare.mjs";

const least = 0.85;
/** A mutant may make a loop endless. */
const runMs = 240_000;
const ofCallers = ["issuers", "caller-claims", "verifier", "metadata", "bounded-map"];
const guards = ["port/guard", ...ofCallers.map((name) => `caller/${name}`)];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { every: { type: "string", default: "10" }, from: { type: "string", default: "0" } },
});
prepare();
const { mutantsOf } = await import("./mutants.mjs");
const { testsOf } = await import("./tests.mjs");
const { cacheFolders, startTestCluster, testNatsServer } = await import("../local/dist/test-cluster.js");

const sourcesIn = (folder) =>
  !existsSync(folder)
    ? []
    : readdirSync(folder, { withFileTypes: true, recursive: true })
        .filter((entry) => entry.isFile() && /(?<!\.test|\.d)\.ts$/.test(entry.name))
        .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
        .sort();
const deciding = [
  ...readdirSync(join(root, "services")).flatMap((name) => sourcesIn(join(root, "services", name, "src", "rules"))),
  ...["auth", "http"].flatMap((name) => sourcesIn(join(root, "gateway", "src", name))),
  ...guards.map((name) => join(root, "libs", "rpc", "src", `${name}.ts`)),
];

const cache = cacheFolders(root, tmpdir());
const [cluster, nats] = await Promise.all([startTestCluster(cache), testNatsServer(cache)]);
const servers = { MUSTER_TEST_PG_URL: cluster.url, MUSTER_TEST_NATS_BIN: nats };

/** Runs tests; returns the exit status, null after too long. */
function run(tests, args, env, timeout) {
  const jest = join(root, "node_modules", "jest", "bin", "jest.js");
  const flags = ["--experimental-vm-modules", "--no-warnings", jest, "--runInBand", "--forceExit", ...args];
  const { status } = spawnSync(process.execPath, [...flags, ...tests], {
    cwd: root,
    stdio: "ignore",
    timeout,
    killSignal: "SIGKILL",
    env: { ...process.env, ...servers, ...env },
  });
  return status;
}

/** Those of these tests that fail without a mutant: they would find everything. */
function failing(tests) {
  if (tests.length === 0) return new Set();
  const folder = mkdtempSync(join(tmpdir(), "muster-mutation-"));
  const report = join(folder, "report.json");
  run(tests, ["--json", `--outputFile=${report}`], {});
  const { testResults } = JSON.parse(readFileSync(report, "utf8"));
  rmSync(folder, { recursive: true });
  return new Set(testResults.filter(({ status }) => status !== "passed").map(({ name }) => name));
}

const files = positionals.length > 0 ? positionals.map((path) => resolve(path)) : deciding;
const all = files.flatMap(mutantsOf);
const chosen = all.filter((_mutant, at) => at % Number(values.every) === Number(values.from) % Number(values.every));
console.log(`${chosen.length} of ${all.length} mutants in ${files.length} files`);
const left = failing([...new Set(chosen.flatMap(({ file }) => testsOf(file).flat()))]);
for (const test of left) console.log(`left out, since it fails without a mutant: ${relative(root, test)}`);
let found = 0;
let late = 0;
for (const mutant of chosen) {
  const groups = testsOf(mutant.file).map((tests) => tests.filter((test) => !left.has(test)));
  const env = { TEST_MUTANT: JSON.stringify(mutant) };
  let status = 0;
  for (const tests of groups) if (status === 0 && tests.length > 0) status = run(tests, ["--bail"], env, runMs);
  if (status === null) late += 1;
  if (status !== 0) {
    found += 1;
    continue;
  }
  const text = mutant.text.replaceAll(/\s+/g, " ").slice(0, 80);
  const why = groups.flat().length === 0 ? "no test uses the file" : `tests pass: ${text}`;
  console.log(`not found: ${relative(root, mutant.file)}:${mutant.line} (${mutant.kind}) ${why}`);
}
const share = found / Math.max(1, chosen.length);
console.log(`${found} of ${chosen.length} mutants found, ${late} by their time: ${(share * 100).toFixed(1)} %`);
await cluster.stop();
process.exit(share >= least ? 0 : 1);
