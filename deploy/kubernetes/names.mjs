// node names.mjs CHART: names of the chart's objects. None is longer than Kubernetes takes, also with a long name of
// the release, and none is taken twice. A migration's pod is immutable: Jobs of one name have one pod template,
// whatever value changes. Each object has the labels that tools count on.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const chart = process.argv[2];
const { parseAllDocuments } = createRequire(join(fileURLToPath(new URL("../../", import.meta.url)), "package.json"))(
  "yaml",
);
const fail = (text) => {
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
};

const values = ["full", "job"].flatMap((name) => ["-f", join(chart, `ci/${name}-values.yaml`)]);
function objects(release, options = [], of = chart) {
  const set = ["--set", "database.maxConnections=400", ...options];
  const rendered = execFileSync("helm", ["template", release, of, ...values, ...set], { maxBuffer: 1e8 });
  return parseAllDocuments(rendered.toString())
    .map((each) => each.toJS())
    .filter(Boolean);
}

/** Bytes of a name by kind: a CronJob's Jobs get 11 more, and what becomes a label or a host name has 63. */
const limits = { CronJob: 52, Job: 63, Service: 63, Deployment: 63, ServiceAccount: 63 };
const standard = ["name", "instance", "version", "managed-by", "part-of"].map((each) => `app.kubernetes.io/${each}`);
standard.push("helm.sh/chart");
for (const release of ["muster", `r${"x".repeat(38)}y`, `r${"x".repeat(51)}y`]) {
  const seen = new Set();
  for (const { kind, metadata } of objects(release)) {
    const limit = limits[kind] ?? 253;
    if (metadata.name.length > limit)
      fail(`${kind} ${metadata.name}: ${metadata.name.length} characters, at most ${limit}`);
    if (seen.has(`${kind} ${metadata.name}`)) fail(`${kind} ${metadata.name} is there twice`);
    seen.add(`${kind} ${metadata.name}`);
    // Of extraObjects, the labels are the operator's.
    if (metadata.name.endsWith("-extra")) continue;
    const missing = standard.filter((label) => !metadata.labels?.[label]);
    if (missing.length > 0) fail(`${kind} ${metadata.name} has no label ${missing.join(", ")}`);
  }
}

const changes = [
  [],
  ["--set", "image.tag=9.9.9"],
  ["--set", "image.pullPolicy=Always"],
  ["--set", "image.pullSecrets={other}"],
  ["--set", "caSecret=other"],
  ["--set", "database.port=5433"],
  ["--set", "secrets.prefix=other"],
  ["--set", "defaults.resources.requests.memory=300Mi,defaults.resources.limits.memory=300Mi"],
  ["--set", "defaults.priorityClassName=other"],
  ["--set", "defaults.nodeSelector.disk=ssd"],
  ["--set", "fullnameOverride=other"],
];
const templates = new Map();
function compare(all, change) {
  for (const { kind, metadata, spec } of all) {
    if (kind !== "Job") continue;
    const template = JSON.stringify(spec.template);
    if ((templates.get(metadata.name) ?? template) !== template)
      fail(`Job ${metadata.name} has another pod with ${change}: an upgrade would be refused`);
    templates.set(metadata.name, template);
  }
}
for (const change of changes) compare(objects("muster", change), change.join(" "));

const newer = mkdtempSync(join(tmpdir(), "muster-chart-"));
cpSync(chart, newer, { recursive: true });
const about = readFileSync(join(newer, "Chart.yaml"), "utf8");
writeFileSync(join(newer, "Chart.yaml"), about.replace(/^version: .*$/m, "version: 99.0.0"));
compare(objects("muster", [], newer), "another version of the chart");
rmSync(newer, { recursive: true });
console.log(
  `${templates.size} migrations have names of their own; no name is too long; each object has the standard labels`,
);
