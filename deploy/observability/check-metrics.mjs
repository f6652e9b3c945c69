// node check-metrics.mjs: every metric that a rule or a dashboard queries exists in the code; names in quotes in
// the sources, or those that prom-client and the rules themselves add.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const files = (folder, ending) =>
  readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((path) => !path.includes("node_modules"));

const sources = ["libs", "gateway/src", "services"]
  .flatMap((folder) => files(folder, ".ts"))
  .filter((path) => !path.includes("/dist/") && !path.endsWith(".test.ts"))
  .map((path) => readFileSync(path, "utf8"))
  .join("\n");
const rules = readFileSync(join(root, "charts/muster/files/rules.yaml"), "utf8");
const asked = [
  rules,
  ...files("charts/muster/files/dashboards", ".json").map((path) => readFileSync(path, "utf8")),
].join("\n");

// `muster_rpc_${side}_…` matches the names of both sides.
// biome-ignore lint/suspicious/noTemplateCurlyInString: a placeholder in the sources
const side = "_${side}_";
const quoted = (name) =>
  sources.includes(`"${name}"`) || sources.includes(`\`${name.replace(/_(server|client)_/, side)}\``);
const known = (name) =>
  /^(process|nodejs)_/.test(name) || quoted(name) || quoted(name.replace(/_(bucket|count|sum)$/, ""));
const names = new Set(asked.match(/\b(muster|gateway|audit|identity|tenancy|process|nodejs)_[a-z0-9_]+/g));
const unknown = [...names].filter((name) => !known(name));
for (const name of unknown) process.stderr.write(`no code has the metric ${name}\n`);
if (unknown.length > 0) process.exitCode = 1;
else console.log(`${names.size} metrics of rules and dashboards exist`);
