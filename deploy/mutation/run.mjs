// `npm run test:mutation -- [--every N] [--from N] [FILE…]`: changes one expression after the other of what decides
// (rules of services, the gateway's auth and http, the guards of libs/rpc) and runs the tests that use the file, which
// is never changed on the disk. Prints each mutant that no test finds, and the share that is found; status 1 below 85
// %. By default every tenth mutant.
import "../local/check-node.mjs";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { prepare, root } from "../local/prepare.mjs";

const least = 0.85;
/** A mutant may make a loop endless. */
const runMs = 120_000;
const ofCallers = ["issuers", "caller-claims", "verifier", "metadata", "bounded-map"];
const guards = ["port/guard", ...ofCallers.map((name) => `caller/${name}`)];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { every: { type: "string", default: "10" }, from: { type: "string", default: "0" } },
});
prepare();
const { mutantsOf } = await import("./mutants.mjs");
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

const importsOf = (path) =>
  [...readFileSync(path, "utf8").matchAll(/from "(\.[^"]+\.ts)"/g)].map(([, to]) => resolve(dirname(path), to));

/** Tests of the same folder that reach the file over imports, those first that import it by themselves. */
function testsOf(file) {
  const folder = dirname(file);
  const tests = readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((path) => path.endsWith(".test.ts"));
  const distance = (test) => {
    let found = [test];
    const seen = new Set(found);
    for (let steps = 1; found.length > 0 && steps < 4; steps++) {
      found = found.flatMap(importsOf).filter((path) => existsSync(path) && !seen.has(path) && seen.add(path));
      if (found.includes(file)) return steps;
    }
    return null;
  };
  return tests
    .map((test) => [distance(test), test])
    .filter(([steps]) => steps !== null)
    .sort(([a], [b]) => a - b)
    .slice(0, 4)
    .map(([, test]) => test);
}

const cache = cacheFolders(root, tmpdir());
const [cluster, nats] = await Promise.all([startTestCluster(cache), testNatsServer(cache)]);
const servers = { MUSTER_TEST_PG_URL: cluster.url, MUSTER_TEST_NATS_BIN: nats };

/** Whether the tests fail with the mutant. */
function isFound(mutant, tests) {
  const jest = join(root, "node_modules", "jest", "bin", "jest.js");
  const flags = ["--experimental-vm-modules", "--no-warnings"];
  const { status } = spawnSync(process.execPath, [...flags, jest, "--runInBand", "--bail", "--forceExit", ...tests], {
    cwd: root,
    stdio: "ignore",
    timeout: runMs,
    killSignal: "SIGKILL",
    env: { ...process.env, ...servers, TEST_MUTANT: JSON.stringify(mutant) },
  });
  return status !== 0;
}

const files = positionals.length > 0 ? positionals.map((path) => resolve(path)) : deciding;
const all = files.flatMap(mutantsOf);
const chosen = all.filter((_mutant, at) => at % Number(values.every) === Number(values.from) % Number(values.every));
console.log(`${chosen.length} of ${all.length} mutants in ${files.length} files`);
let found = 0;
for (const mutant of chosen) {
  const tests = testsOf(mutant.file);
  if (tests.length > 0 && isFound(mutant, tests)) found += 1;
  else {
    const why =
      tests.length === 0 ? "no test uses the file" : `tests pass: ${mutant.text.replaceAll(/\s+/g, " ").slice(0, 80)}`;
    console.log(`not found: ${relative(root, mutant.file)}:${mutant.line} (${mutant.kind}) ${why}`);
  }
}
const share = found / Math.max(1, chosen.length);
console.log(`${found} of ${chosen.length} mutants found: ${(share * 100).toFixed(1)} %`);
await cluster.stop();
process.exit(share >= least ? 0 : 1);
