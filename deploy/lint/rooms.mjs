// Prints which folders of each building import which, and fails on an import that goes up, on a circle of imports
// (types included), on two functions of one name and on files that differ in their ending alone
// (docs/reading-the-code.md, "Layers").
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { checkItself, cycleIn, layerLines, layerProblems, roomOf, sharedNames } from "./layers.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
/** The folders of a folder. */
const list = (folder) =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

/** Rooms of each building from the top down: a room imports from rows below its own alone. */
const service = [
  // What is started: the service, the audit's retention worker, its commands, its verifier of exports; what tests start.
  ["main", "backup-main", "restore-main", "retention-main", "offline", "testing"],
  // The parts of a service and what they wake in one another, for its main and its tests.
  ["dispatcher"],
  ["rpc", "events", "jobs", "sender"],
  ["commands"],
  ["deps"],
  ["emits"],
  ["clients", "crypto", "store"],
  ["config"],
  ["rules"],
];
const buildings = {
  ...Object.fromEntries(list("services").map((name) => [`services/${name}/src`, service])),
  "gateway/src": [
    ["main", "testing"],
    ["wiring"],
    ["routes"],
    ["channel", "openapi", "pages"],
    ["http"],
    ["auth"],
    ["route"],
    ["clients"],
    ["config"],
    ["request"],
    ["error-guide"],
    ["errors"],
  ],
  "gateway/src/routes": [
    ["index"],
    ["audit", "devices", "directory", "sso"],
    ["keys", "people", "platform", "releases", "sign-in", "tenants", "webhooks"],
    ["fields"],
  ],
  "gateway/console/src": [
    ["main"],
    ["router"],
    ["pages", "portal", "shell", "sign-in", "parts-page"],
    ["operations"],
    ["parts"],
    ["api"],
    ["rules"],
  ],
  "libs/kit/src": [
    ["index", "agent", "light", "undici"],
    ["lifecycle"],
    ["telemetry"],
    ["settings"],
    ["caller"],
    ["crypto", "fairness", "timing"],
    ["formats"],
    ["text"],
    ["errors"],
  ],
  "libs/db/src": [["index", "builder", "testing"], ["checks"], ["migrations", "outbox"], ["tables"], ["client"]],
  "libs/rpc/src": [["index", "testing"], ["client", "port"], ["caller"], ["codec", "protocol"]],
};
/** Without layers: a cycle of imports is a problem here, too. */
const flat = [
  ...list("libs")
    .filter((name) => !buildings[`libs/${name}/src`])
    .map((name) => `libs/${name}/src`),
  "gateway/e2e",
  ...list("deploy").map((name) => `deploy/${name}`),
];
/** Packages from the top down; the console and the command line use the client of the API, and nothing else of ours. */
const packages = [["testing"], ["service"], ["bus", "db", "egress", "rpc"], ["kit"], ["proto"]];
const roomsMax = 12;
/**
 * Names that several files export on purpose: each bench is a `run`; `prepare.mjs` runs before anything is compiled.
 */
const repeated = { "deploy/bench": ["run"], "deploy/local": ["root"] };

const isTest = (file) => /\.test\.tsx?$/.test(file);

function filesOf(src) {
  return readdirSync(join(root, src), { recursive: true })
    .map(normalize)
    .filter((file) => /\.(tsx?|mjs)$/.test(file) && !file.endsWith(".d.ts"))
    .filter((file) => !/(^|\/)(node_modules|dist|generated)\//.test(file));
}

const text = (src, file) => readFileSync(join(root, src, file), "utf8");

/** [file, imported file] of relative imports, types included, in src. */
function importsOf(src, files) {
  const present = new Set(files);
  return files.flatMap((file) =>
    [...text(src, file).matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)]
      .map(([, target]) => [file, normalize(join(dirname(file), target))])
      .filter(([, target]) => present.has(target)),
  );
}

function problemsOf(src, rows) {
  const all = filesOf(src);
  const files = all.filter((file) => !isTest(file));
  const imports = importsOf(src, files);
  console.log(src.replace(/\/src$/, ""));
  for (const line of layerLines(rows, files, imports)) console.log(`  ${line}`);
  const folders = new Set(files.filter((file) => file.includes("/")).map(roomOf));
  const tooMany = folders.size > roomsMax ? [`${folders.size} folders, at most ${roomsMax}`] : [];
  return [...layerProblems(rows, files, imports), ...tooMany, ...cycleOf(src)].map((problem) => `${src}: ${problem}`);
}

function cycleOf(src) {
  const files = filesOf(src);
  const cycle = cycleIn(files, importsOf(src, files));
  return cycle ? [`a cycle: ${cycle.join(" → ")}`] : [];
}

/** Libraries that import one beside or above them. */
function packageProblems() {
  const rowOf = (name) => packages.findIndex((row) => row.includes(name));
  return list("libs").flatMap((lib) =>
    filesOf(`libs/${lib}/src`)
      .filter((file) => !isTest(file) && rowOf(lib) >= 0)
      .flatMap((file) =>
        [...text(`libs/${lib}/src`, file).matchAll(/(?:from|import\()\s*"@muster\/([a-z-]+)/g)]
          .filter(([, other]) => rowOf(other) <= rowOf(lib))
          .map(([, other]) => `libs/${lib}/src/${file} imports @muster/${other}, which is not below it`),
      ),
  );
}

/** Names that two files of a building export, and files that differ in their ending alone. */
function nameProblems(src) {
  const files = filesOf(src).filter((file) => !isTest(file) && !file.startsWith("testing/"));
  const names = files.map((file) => [
    file,
    [...text(src, file).matchAll(/^export (?:async )?(?:function\*?|class|const) (\w+)/gm)].map(([, name]) => name),
  ]);
  const stems = new Map();
  for (const file of files) {
    const stem = file.replace(/^.*\//, "").replace(/\.\w+$/, "");
    stems.set(stem, [...(stems.get(stem) ?? []), file]);
  }
  const ending = (file) => file.replace(/^.*\./, "");
  return [
    ...sharedNames(names)
      .filter(([name]) => !repeated[src]?.includes(name))
      .map(([name, where]) => `${src}: ${name} is exported by ${where.join(" and by ")}`),
    ...[...stems.values()]
      .filter((where) => new Set(where.map(ending)).size > 1)
      .map((where) => `${src}: ${where.join(" and ")} differ in their ending alone`),
  ];
}

checkItself();
const problems = [
  ...Object.entries(buildings).flatMap(([src, rows]) => problemsOf(src, rows)),
  ...flat.flatMap((src) => cycleOf(src).map((problem) => `${src}: ${problem}`)),
  ...packageProblems(),
  ...[...Object.keys(buildings), ...flat].filter((src) => src !== "gateway/e2e").flatMap(nameProblems),
];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
