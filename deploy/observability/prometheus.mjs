// node prometheus.mjs DATA: a Prometheus configuration for the stack that `npm start` runs with data folder DATA.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const stack = JSON.parse(readFileSync(join(process.argv[2] ?? ".muster", "stack.json"), "utf8"));
const named = [
  ...stack.gateways.map(({ ops }) => ["gateway", ops]),
  ...Object.entries({ ...stack.services, ...stack.workers }).map(([name, { ops }]) => [name.replace(/-\d+$/, ""), ops]),
];
const targets = named.map(([service, ops]) => ({ targets: [new URL(ops).host], labels: { service } }));
const rules = fileURLToPath(new URL("../../charts/muster/files/rules.yaml", import.meta.url));
// JSON is YAML.
const configuration = {
  global: { scrape_interval: "5s", evaluation_interval: "15s" },
  rule_files: [rules],
  scrape_configs: [{ job_name: "muster", static_configs: targets }],
};
console.log(JSON.stringify(configuration, null, 2));
