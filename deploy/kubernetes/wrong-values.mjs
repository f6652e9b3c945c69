// node wrong-values.mjs CHART: writes CHART/tests/generated_test.yaml, tests for helm-unittest: a wrong value for each
// leaf of values.schema.json, an unknown key for each object in it, and a value out of bounds for each setting of
// files/settings.json; each must be refused by a message that names it. Fails when a refusal in the templates is
// expected by no test.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const chart = process.argv[2];
const read = (path) => readFileSync(join(chart, path), "utf8");
const schema = JSON.parse(read("values.schema.json"));
const settings = JSON.parse(read("files/settings.json"));
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

const tests = [];
/** Adds a test: `value` at `path` is refused with a message that matches `says`. */
function refused(path, value, says) {
  const set = path.reduceRight((inner, key) => ({ [key]: inner }), value);
  const it = `refuses ${path.join(".")}: ${JSON.stringify(value)}`;
  tests.push({ it, set, asserts: [{ failedTemplate: { errorPattern: says } }] });
}

const wrongFor = ({ type, enum: one, minimum, pattern, minLength }) => {
  if (one) return ["of no such kind"];
  const types = [type].flat();
  const wrong = [types.includes("string") ? (types.length > 1 ? ["a list"] : 12_345) : "text"];
  if (minimum !== undefined) wrong.push(minimum - 1);
  if (pattern) wrong.push("!! not this !!");
  if (minLength > 0) wrong.push("");
  return wrong;
};

function walk(node, path) {
  if (node.$ref) return walk(schema.$defs[node.$ref.split("/").at(-1)], path);
  const at = `at '/${path.join("/")}'`;
  if (node.properties) {
    for (const [key, child] of Object.entries(node.properties)) {
      // Every workload has the same keys: those of `defaults` are tried, and of each of the others that it has these
      // keys.
      if (path[0] === "services" && path.length === 2 && !["service", "trustedProxyCidrs"].includes(key)) continue;
      walk(child, [...path, key]);
    }
    if (node.additionalProperties === false) refused([...path, "unknownKey"], 1, "'unknownKey' not allowed");
    return;
  }
  for (const wrong of wrongFor(node)) refused(path, wrong, escaped(at));
}
walk(schema, []);

for (const [workload, all] of Object.entries(settings)) {
  for (const [name, { one, min, max }] of Object.entries(all)) {
    if (max === undefined && !one) continue;
    const where = `services\\.${workload}\\.config\\.${name} `;
    const path = ["services", workload, "config", name];
    const bound = max < Number.MAX_SAFE_INTEGER ? max + 1 : min - 1;
    refused(path, one ? "sometimes" : bound, `${where}(is "|follows from |is set by the chart)`);
  }
}
writeFileSync(
  join(chart, "tests/generated_test.yaml"),
  JSON.stringify({
    suite: "each wrong value is refused by name",
    templates: ["deployment.yaml"],
    values: ["../ci/minimal-values.yaml"],
    tests,
  }),
);

/** Whether a test's pattern has a passage of a refusal's sentence: 20 characters, or all of a shorter fragment. */
const expects = (pattern, fragment) => {
  const length = Math.min(20, fragment.length);
  for (let at = 0; at + length <= fragment.length; at += 1) {
    if (length >= 8 && pattern.includes(fragment.slice(at, at + length))) return true;
  }
  return false;
};
const refusals = ["refusals", "demo"].map((name) => read(`tests/${name}_test.yaml`)).join("");
const patterns = [...refusals.matchAll(/errorPattern: "((?:[^"\\]|\\.)*)"/g)].map(([, pattern]) =>
  pattern.replaceAll("\\\\", "\\").replace(/\\(.)/g, "$1"),
);
for (const file of readdirSync(join(chart, "templates"))) {
  // A long sentence is written as `cat` of its lines.
  for (const [, lines] of read(`templates/${file}`).matchAll(
    /\bfail \(?(?:printf )?\(?(?:cat )?((?:\s*"(?:[^"\\]|\\.)*")+)/g,
  )) {
    const sentence = lines.trim().replace(/^"|"$/g, "").split(/"\s+"/).join(" ");
    const fragments = sentence.split(/%[a-z]/);
    if (patterns.some((pattern) => fragments.some((fragment) => expects(pattern, fragment)))) continue;
    process.stderr.write(`templates/${file}: no test expects "${sentence}"\n`);
    process.exitCode = 1;
  }
}
console.log(`${tests.length} wrong values`);
