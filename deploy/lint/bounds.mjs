// Fails on functions that are too long and on more type assertions than a building may have. `npm run lint -- --size`
// prints the lines of each building. A function has at most 80 lines; casts (`as X`, without `as const`) are counted
// per thousand lines.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseSync } from "@swc/core";

const root = fileURLToPath(new URL("../../", import.meta.url));
const linesMax = 80;
/** Of a file of the benches. */
const benchLinesMax = 300;

/** Functions that may be longer, at most eight, with their bound (120) and the reason; benches are scripts, read from top to bottom. */
const exceptions = {
  "deploy/agent/src/hosts/real-host.ts realHost": [101, "what a machine is to the protocol"],
  "deploy/agent-sim/src/machine.ts simMachine": [89, "one machine and how its updates end"],
  "deploy/kubernetes/cluster/try-policy.mjs policy": [89, "one manifest"],
  "deploy/local/src/stack.ts start": [112, "the order in which a cluster starts"],
  "gateway/console/src/parts/list-page.tsx ListPage": [113, "every list page: its head, filters, states and table"],
};

/** Casts per thousand lines. */
const castsMax = { services: 3.5, gateway: 3.5, libs: 2, console: 4, cli: 3.5 };

const buildings = [
  ["tests", /\.test\.|\/testing\/|\/e2e\/|^libs\/testing\/|^deploy\/(fuzz|clients)\//],
  ["console", /^gateway\/console\//],
  ["gateway", /^gateway\//],
  ["services", /^services\//],
  ["libs", /^libs\//],
  ["cli", /^deploy\/cli\//],
  ["bench", /^deploy\/bench\//],
  ["deploy", /^deploy\//],
];
const buildingOf = (path) => buildings.find(([, pattern]) => pattern.test(path))?.[0] ?? "other";

const functionTypes = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
  "ClassMethod",
  "PrivateMethod",
  "MethodProperty",
  "Constructor",
  "GetterProperty",
]);

/** Functions with their lines, and the number of casts, of a file. Throws on a file that is no TypeScript. */
export function measure(path, text) {
  const isTypeScript = /\.tsx?$/.test(path);
  const syntax = isTypeScript ? { syntax: "typescript", tsx: path.endsWith("x") } : { syntax: "ecmascript" };
  const module = parseSync(text, { ...syntax, target: "es2022" });
  // Positions are bytes, counted on from the files before.
  const bytes = Buffer.from(text);
  const base = module.span.end - bytes.length;
  const linesOf = ({ start, end }) =>
    bytes
      .subarray(start - base, end - base - 1)
      .toString()
      .split("\n").length;
  const found = { functions: [], casts: 0 };
  const visit = (node, name) => {
    if (Array.isArray(node)) {
      for (const each of node) visit(each, name);
      return;
    }
    if (node === null || typeof node !== "object") return;
    if (node.type === "TsAsExpression") found.casts++;
    const own = node.identifier?.value ?? node.id?.value ?? node.key?.value ?? node.key?.id?.value ?? name;
    const isFunction = functionTypes.has(node.type);
    if (isFunction)
      found.functions.push({ name: own ?? "a function", lines: linesOf(node.span ?? node.function.span) });
    const isNamed = isFunction || node.type === "VariableDeclarator" || node.type === "KeyValueProperty";
    for (const [key, child] of Object.entries(node)) if (key !== "span") visit(child, isNamed ? own : name);
  };
  visit(module.body, null);
  return found;
}

/** Throws unless a planted function and a planted cast are found. */
function checkItself() {
  const bounds = Object.values(exceptions).map(([lines]) => lines);
  if (bounds.length > 8 || Math.max(...bounds) > 120)
    throw new Error("more than eight exceptions, or one above 120 lines");
  const long = `export function planted() {\n${"  step();\n".repeat(linesMax)}}\nconst cast = 1 as unknown;\n`;
  const { functions, casts } = measure("planted.ts", long);
  if (functions[0]?.lines !== linesMax + 2 || functions[0].name !== "planted" || casts !== 1)
    throw new Error("the check of bounds does not find what is planted");
}

checkItself();
const paths = execFileSync("git", ["ls-files", "services", "gateway", "libs", "deploy", "proto"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((path) => /\.(tsx?|mjs)$/.test(path) && !path.endsWith(".d.ts"));
const sizes = new Map();
const casts = new Map();
const problems = [];
const used = new Set();
for (const path of paths) {
  let text;
  try {
    text = readFileSync(`${root}${path}`, "utf8");
  } catch (error) {
    // Deleted, and not yet committed.
    if (error.code === "ENOENT") continue;
    throw error;
  }
  const building = buildingOf(path);
  const lines = text.split("\n").length - 1;
  sizes.set(building, (sizes.get(building) ?? 0) + lines);
  if (building === "bench" && lines > benchLinesMax) problems.push(`${path}: ${lines} lines, at most ${benchLinesMax}`);
  if (building === "tests" || process.argv.includes("--size")) continue;
  const found = measure(path, text);
  casts.set(building, (casts.get(building) ?? 0) + found.casts);
  for (const { name, lines } of found.functions) {
    const key = `${path} ${name}`;
    if (lines > linesMax) used.add(key);
    const most = exceptions[key]?.[0] ?? linesMax;
    if (lines > most && building !== "bench") problems.push(`${path}: ${name} has ${lines} lines, at most ${most}`);
  }
}
if (!process.argv.includes("--size")) {
  const unused = Object.keys(exceptions).filter((key) => !used.has(key));
  for (const key of unused) problems.push(`${key}: is short by now: not an exception`);
}
for (const [building, most] of Object.entries(castsMax)) {
  if (casts.size === 0) break;
  const perThousand = (1_000 * (casts.get(building) ?? 0)) / (sizes.get(building) ?? 1);
  if (perThousand > most)
    problems.push(`${building}: ${perThousand.toFixed(1)} casts per 1,000 lines, at most ${most}`);
}
if (process.argv.includes("--size")) {
  for (const [building, lines] of sizes)
    console.log(`${building.padEnd(10)} ${lines.toLocaleString("en").padStart(8)}`);
  const generated = execFileSync("git", ["ls-files", "-o", "--directory", "proto/gen", "libs/client/src/generated"], {
    cwd: root,
    encoding: "utf8",
  });
  const files = generated.split("\n").filter((path) => path !== "");
  const lines =
    files.length === 0
      ? 0
      : Number(
          execFileSync("sh", ["-c", `find ${files.join(" ")} -name '*.ts' -o -name '*.js' | xargs cat | wc -l`], {
            cwd: root,
            encoding: "utf8",
          }),
        );
  console.log(`${"generated".padEnd(10)} ${lines.toLocaleString("en").padStart(8)}`);
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
