// Prints which folders of each service import which, and fails on an upward import (docs/reading-the-code.md, "Layers")
// and, in every package, on a cycle of imports, types included.
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
/**
 * From the top down: a room imports only from rows below its own. A file of src itself counts as a room of its name.
 */
const rows = [
  // What is started: the service, the audit's retention worker, its verifier of exports; and what tests start.
  ["main", "restore-main", "retention-main", "offline", "testing"],
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
const roomsMax = 12;

const rowOf = (room) => rows.findIndex((row) => row.includes(room));
const isTest = (file) => file.endsWith(".test.ts");

function filesOf(src) {
  return readdirSync(src, { recursive: true })
    .filter((file) => /\.(ts|mjs)$/.test(file) && !file.endsWith(".d.ts"))
    .map(normalize);
}

const roomOf = (file) => (dirname(file) === "." ? basename(file).replace(/\.\w+$/, "") : file.split("/")[0]);

/** [file, imported file] of relative imports, types included, in src. */
function importsOf(src, files) {
  return files.flatMap((file) =>
    [...readFileSync(join(src, file), "utf8").matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)]
      .map(([, target]) => [file, normalize(join(dirname(file), target))])
      .filter(([, target]) => !target.startsWith("..") && files.includes(target)),
  );
}

/** One cycle among the files, as the list of its files, or null. */
function cycleIn(files, imports) {
  const next = new Map(files.map((file) => [file, imports.filter(([from]) => from === file).map(([, to]) => to)]));
  const done = new Set();
  const visit = (file, path) => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return null;
    for (const to of next.get(file)) {
      const cycle = visit(to, [...path, file]);
      if (cycle) return cycle;
    }
    done.add(file);
    return null;
  };
  for (const file of files) {
    const cycle = visit(file, []);
    if (cycle) return cycle;
  }
  return null;
}

function problemsOf(service) {
  const src = join(root, "services", service, "src");
  const files = filesOf(src);
  const imports = importsOf(src, files).filter(([from]) => !isTest(from));
  const rooms = [...new Set(files.filter((file) => !isTest(file)).map(roomOf))].sort((a, b) => rowOf(a) - rowOf(b));
  console.log(service);
  for (const room of rooms) {
    const to = new Set(imports.filter(([from]) => roomOf(from) === room).map(([, target]) => roomOf(target)));
    to.delete(room);
    if (to.size > 0) console.log(`  ${room} → ${[...to].sort((a, b) => rowOf(a) - rowOf(b)).join(", ")}`);
  }
  const problems = rooms.filter((room) => rowOf(room) < 0).map((room) => `${room} is no room that a service has`);
  const folders = rooms.filter((room) => files.some((file) => file.startsWith(`${room}/`)));
  if (folders.length > roomsMax) problems.push(`${folders.length} folders, at most ${roomsMax}`);
  for (const [from, to] of imports) {
    if (roomOf(from) === roomOf(to) || rowOf(roomOf(from)) < rowOf(roomOf(to))) continue;
    if (rowOf(roomOf(from)) >= 0 && rowOf(roomOf(to)) >= 0)
      problems.push(`${from} imports ${to}, which is not below it (docs/reading-the-code.md, "Layers")`);
  }
  const cycle = cycleIn(files, imports);
  if (cycle) problems.push(`a cycle: ${cycle.join(" → ")}`);
  return problems.map((problem) => `services/${service}/src: ${problem}`);
}

/** A cycle of imports in a folder without layers. */
function cyclesOf(folder) {
  const src = join(root, folder);
  const files = filesOf(src);
  const cycle = cycleIn(files, importsOf(src, files));
  return cycle ? [`${folder}: a cycle: ${cycle.join(" → ")}`] : [];
}

const services = readdirSync(join(root, "services"));
const folders = ["gateway/src", "gateway/e2e", ...readdirSync(join(root, "libs")).map((lib) => `libs/${lib}/src`)];
const problems = [...services.flatMap(problemsOf), ...folders.flatMap(cyclesOf)];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
