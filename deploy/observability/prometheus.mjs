// node prometheus.mjs DATA: a Prometheus configuration for the stack that `npm start` runs with data folder DATA; its
// rules are written to DATA/rules.yaml.
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { rulesOfWorkloads } from "./rules.mjs";

const data = resolve(process.argv[2] ?? ".muster");
const stack = JSON.parse(readFileSync(join(data, "stack.json"), "utf8"));
const where = { namespace: "local", release: "muster" };
const named = [
  ...stack.gateways.map(({ ops }) => ["gateway", ops]),
  ...Object.entries({ ...stack.services, ...stack.workers }).map(([name, { ops }]) => [name.replace(/-\d+$/, ""), ops]),
];
const targets = named.map(([service, ops]) => ({ targets: [new URL(ops).host], labels: { ...where, service } }));
const rules = join(data, "rules.yaml");
// JSON is YAML.
writeFileSync(
  rules,
  rulesOfWorkloads(
    where,
    named.map(([service]) => service),
  ),
);
const configuration = {
  global: { scrape_interval: "5s", evaluation_interval: "15s" },
  rule_files: [rules],
  scrape_configs: [{ job_name: "muster", static_configs: targets }],
};
console.log(JSON.stringify(configuration, null, 2));
