// `npm run test:mutation -- [--every N] [--from N] [--workers N] [FILE[:LINE]…]`: changes one expression after the
// other of what decides (rules of services, the gateway's auth and http, the guards of libs/rpc) and runs the tests
// that use the file, which is never changed on the disk. Prints each mutant that no test finds, and the share that
// is found; status 1 below 85 %. By default every 25th mutant, every one of a named line, by two processes; Ctrl-C
// ends with what was tried until then.
import "../local/check-node.mjs";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { prepare, root } from "../local/prepare.mjs";

const least = 0.85;
const ofCallers = ["issuers", "caller-claims", "verifier", "metadata", "bounded-map"];
const guards = ["port/guard", ...ofCallers.map((name) => `caller/${name}`)];
const foundBy = { test: "a test", time: "its time", crash: "a crash" };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    every: { type: "string" },
    from: { type: "string", default: "0" },
    workers: { type: "string", default: "2" },
  },
});
prepare();
const { mutantsOf } = await import("./mutants.mjs");
const { Examination } = await import("./examination.mjs");
const { Worker } = await import("./worker.mjs");
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

const positions = positionals.map((text) => {
  const [, path, line] = /^(.*?)(?::(\d+))?$/.exec(text);
  return { file: resolve(path), line: line === undefined ? null : Number(line) };
});
const isWanted = ({ file, line }) =>
  positions.length === 0 || positions.some((position) => position.file === file && (position.line ?? line) === line);
const hasLines = positions.some(({ line }) => line !== null);
const files = positions.length > 0 ? [...new Set(positions.map(({ file }) => file))] : deciding;
const all = files.flatMap(mutantsOf).filter(isWanted);
const every = Number(values.every ?? (hasLines ? 1 : 25));
const chosen = all
  .filter((_mutant, at) => at % every === Number(values.from) % every)
  .map((mutant, id) => ({ id, ...mutant }));
console.log(`${chosen.length} of ${all.length} mutants in ${files.length} files`);

const began = performance.now();
const work = mkdtempSync(join(tmpdir(), "muster-mutation-"));
const byFile = new Map(files.map((file) => [file, chosen.filter((mutant) => mutant.file === file)]));
const list = join(work, "mutants.json");
writeFileSync(list, JSON.stringify(Object.fromEntries(byFile)));
const cache = cacheFolders(root, tmpdir());
const [cluster, nats] = await Promise.all([startTestCluster(cache), testNatsServer(cache)]);
const e2e = join(work, "e2e");
mkdirSync(e2e);
const env = {
  MUSTER_TEST_PG_URL: cluster.url,
  MUSTER_TEST_NATS_BIN: nats,
  MUSTER_E2E_DIR: e2e,
  TEST_MUTANTS: list,
};

const examination = new Examination((test, problem) =>
  console.log(`left out, since it fails without a mutant: ${relative(root, test)}: ${problem.slice(0, 400)}`),
);
const results = new Map();
const waiting = [...byFile.values()];
const workers = Array.from({ length: Number(values.workers) }, () => new Worker(env));
// Ctrl-C reaches the servers of tests, too: what fails then is no finding.
let isStopped = false;
process.once("SIGINT", () => {
  isStopped = true;
});
/** One process begins with the first files, the other with the last: they share few tests. */
await Promise.all(
  workers.map(async (worker, at) => {
    while (waiting.length > 0 && !isStopped) {
      for (const mutant of at % 2 === 0 ? waiting.shift() : waiting.pop()) {
        const result = await examination.examine(mutant, worker);
        if (isStopped) break;
        results.set(mutant, result);
        report(mutant);
      }
    }
    worker.stop();
  }),
);
await cluster.stop();
rmSync(work, { recursive: true });

const found = chosen.filter((mutant) => results.get(mutant) in foundBy);
const share = found.length / Math.max(1, results.size);
const ways = Object.entries(foundBy).map(([way, name]) => {
  return `${found.filter((mutant) => results.get(mutant) === way).length} by ${name}`;
});
const minutes = ((performance.now() - began) / 60_000).toFixed(1);
console.log(
  `${found.length} of ${results.size} mutants found: ${(share * 100).toFixed(1)} % (${ways.join(", ")}) in ${minutes} minutes`,
);
process.exit(share >= least ? 0 : 1);

function report(mutant) {
  const result = results.get(mutant);
  if (result in foundBy) return;
  const short = (text) => text.replaceAll(/\s+/g, " ").slice(0, 100);
  const was = readFileSync(mutant.file, "utf8").slice(mutant.start, mutant.end);
  const why = result === "unreached" ? "no test runs it" : "tests pass";
  const location = `${relative(root, mutant.file)}:${mutant.line}`;
  console.log(`not found: ${location} (${mutant.kind}) ${why}: ${short(was)} → ${short(mutant.text)}`);
}
