// What queries metrics, compared with what the compiled modules declare.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { alertsOf, series } from "./metrics.mjs";
import { filesIn, sourceName } from "./repository.mjs";

const parts =
  /\bmuster_(?:gateway|identity|tenancy|audit|device_logs|webhook_dispatcher|agent_release|rpc|db|bus|outbox|process|build)_[a-z0-9_]+/g;
/** Roles of the database are named like metrics. */
const role = /_(app|pruner|owner)$/;

/**
 * Counters with labels that alerts take the increase of, and that have no series from the start: the first event of
 * such a one is no increase. Labels that are known only at run time are set to 0 where they become known.
 */
const startedLater = ["muster_bus_consumer_dead_letters_total", "muster_outbox_dead_letters_total"];
/** A ratio of many events: the first one does not matter. */
const ratios = ["muster_gateway_http_requests_total"];

async function uninitialised(root) {
  const { register } = createRequire(join(root, "libs/kit/package.json"))("prom-client");
  const queried = alertsOf(root).flatMap(({ alert, names }) => [...names].map((name) => ({ alert, name })));
  const found = await Promise.all(
    queried.map(async ({ alert, name }) => {
      const metric = register.getSingleMetric(name);
      if (metric?.type !== "counter" || [...startedLater, ...ratios].includes(name)) return [];
      if ((await metric.get()).values.length > 0) return [];
      return [`${alert}: ${name} has no series before its first event: give counter() the values of its labels`];
    }),
  );
  return found.flat();
}

/** Values of labels that an alert selects and that no known series of its counter has: it would never fire. */
async function impossible(root) {
  const { register } = createRequire(join(root, "libs/kit/package.json"))("prom-client");
  const text = readFileSync(join(root, "charts/muster/files/rules.yaml"), "utf8");
  const selectors = [...text.matchAll(/\b(muster_[a-z0-9_]+)\{([^}]*)\}/g)];
  const found = await Promise.all(
    selectors.map(async ([, name, matchers]) => {
      const metric = register.getSingleMetric(name);
      const { values } = metric?.type === "counter" ? await metric.get() : { values: [] };
      const wanted = [...matchers.matchAll(/(\w+)="([^"]*)"/g)].filter(([, label]) =>
        values.some(({ labels }) => label in labels),
      );
      return wanted
        .filter(([, label, value]) => !values.some(({ labels }) => labels[label] === value))
        .map(([matcher]) => `rules.yaml: ${name} has no series with ${matcher}`);
    }),
  );
  return [...new Set(found.flat())];
}

/**
 * What rules, dashboards, scalers, runbooks and benches query although no code has it, and alerts without a runbook.
 */
export async function metricProblems(root, metrics) {
  const declared = new Set(metrics.flatMap(({ name, type }) => series(name, type)));
  const queries = [
    ...filesIn(join(root, "charts/muster/files"), /\.(ya?ml|json)$/),
    join(root, "charts/muster/templates/availability.yaml"),
    ...filesIn(join(root, "docs"), /\.md$/),
    ...filesIn(join(root, "deploy/bench/src"), /\.ts$/),
    ...filesIn(join(root, "deploy/kubernetes/cluster"), /\.mjs$/),
  ];
  const unknown = queries.flatMap((path) =>
    [...new Set(readFileSync(path, "utf8").match(parts))]
      .filter((name) => !declared.has(name) && !role.test(name) && !name.endsWith("_"))
      .map((name) => `${relative(root, path)}: no code has the metric ${name}`),
  );
  const late = ["libs", "services", "gateway/src"]
    .flatMap((folder) => filesIn(join(root, folder), sourceName))
    .flatMap((path) => [...readFileSync(path, "utf8").matchAll(/\b(?:counter|gauge|histogram)\(\s*"(\w+)"/g)])
    .filter(([, name]) => !declared.has(name))
    .map(([, name]) => `${name} is declared inside a function: a process without it cannot show it as 0`);
  const runbook = readFileSync(join(root, "docs/operations/alerts.md"), "utf8");
  const without = alertsOf(root).filter(({ alert }) => !runbook.includes(`\n## ${alert}\n`));
  return [
    ...unknown,
    ...late,
    ...(await uninitialised(root)),
    ...(await impossible(root)),
    ...without.map(({ alert }) => `docs/operations/alerts.md lacks ${alert}`),
  ];
}
