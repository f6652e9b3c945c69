// node alerts.mjs [--mutations]: tests the alert rules by promtool: each alert fires when it should, stays silent just
// below, without any series, and for what another release does; its first event counts. --mutations: a misspelt metric
// turns them red.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rulesFor } from "../rules.mjs";
import { unscoped } from "../scope.mjs";
import { scenarios } from "./scenarios.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const { parse } = createRequire(join(root, "package.json"))("yaml");

// Two releases of one namespace, and one of the same name in another namespace, in one Prometheus.
const ours = { namespace: "prod", release: "muster" };
const neighbour = { namespace: "prod", release: "second" };
const other = { namespace: "stage", release: "muster" };
const releases = [ours, neighbour, other];

const labelled = (name, labels) =>
  `${name}{${Object.entries(labels)
    .map(([label, value]) => `${label}="${value}"`)
    .join(",")}}`;
const seriesOf = (where, all) =>
  all.map(({ name, labels, values }) => ({ series: labelled(name, { ...where, ...labels }), values }));

/** A test of promtool: with `given`, `[release, series]`, the alert fires for exactly `firing` releases at its time. */
function test(alert, { severity, at, labels = {} }, title, inputs, firing) {
  const service = labels.service ? `,service="${labels.service}"` : "";
  const exp_samples = firing.map((where) => ({
    labels: labelled("ALERTS", { alertname: alert, alertstate: "firing", severity, ...where, ...labels }),
    value: 1,
  }));
  return {
    name: `${alert} ${title}`,
    interval: "1m",
    input_series: inputs.flatMap(([where, series]) => seriesOf(where, series)),
    promql_expr_test: [
      { expr: `ALERTS{alertname="${alert}",alertstate="firing"${service}}`, eval_time: `${at}m`, exp_samples },
    ],
  };
}

function testsOf([alert, scenario]) {
  const { fires, healthy, first, alone = false, absent = false } = scenario;
  const all = (series) => releases.map((where) => [where, series]);
  const except = (where, series, others) => releases.map((each) => [each, each === where ? series : others]);
  return [
    test(alert, scenario, "without any series", [], absent ? releases : []),
    test(alert, scenario, "just below", all(healthy), []),
    test(alert, scenario, "at the first event", all(first), alone ? releases : []),
    test(alert, scenario, "in each of two releases", all(fires), releases),
    ...releases.map((where) =>
      test(alert, scenario, `in ${where.namespace}/${where.release} alone`, except(where, fires, healthy), [where]),
    ),
  ];
}

const work = mkdtempSync(join(tmpdir(), "muster-alerts-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));

/** The rules of a release that a scenario needs, recording rules included: all of them would take minutes. */
function rulesOf(where, [alert, { labels = {} }], change) {
  const own = (rule) =>
    rule.record || (rule.alert === alert && (!rule.labels.service || rule.labels.service === labels.service));
  const { groups } = parse(change(rulesFor(where)));
  return {
    groups: groups
      .map(({ name, rules }) => ({ name, rules: rules.filter(own) }))
      .filter(({ rules }) => rules.length > 0),
  };
}

/** Runs promtool over the scenarios; returns its complaints, or null. `change` alters the rules' text. */
function run(wanted, change = (text) => text) {
  // JSON is YAML.
  const write = (name, content) => {
    writeFileSync(join(work, name), JSON.stringify(content));
    return join(work, name);
  };
  const files = wanted.map((scenario, n) => {
    const rule_files = releases.map((where, of) => write(`rules-${n}-${of}.yaml`, rulesOf(where, scenario, change)));
    return write(`tests-${n}.yaml`, { rule_files, evaluation_interval: "1m", tests: testsOf(scenario) });
  });
  try {
    execFileSync("promtool", ["test", "rules", ...files], { stdio: "pipe" });
    return null;
  } catch (error) {
    return `${error.stdout}${error.stderr}`;
  }
}

const fail = (text) => {
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
};

const rules = parse(rulesFor(ours)).groups.flatMap(({ rules }) => rules);
const alerts = rules.filter(({ alert }) => alert);
for (const { alert, labels, annotations } of alerts) {
  const own = scenarios.filter(
    ([name, each]) => name === alert && (!labels.service || each.labels.service === labels.service),
  );
  if (own.length === 0) fail(`${alert} ${labels.service ?? ""} has no scenario`);
  const runbook = `docs/operations/alerts.md#${alert.toLowerCase()}`;
  if (annotations.runbook_url !== runbook) fail(`${alert}: runbook_url is not ${runbook}`);
  if (!annotations.summary || !annotations.description) fail(`${alert} lacks its summary or description`);
}
for (const { alert, record, expr } of rules)
  for (const selector of unscoped(expr)) fail(`${alert ?? record}: ${selector} matches every release`);
for (const name of ["muster-overview", "muster-webhooks", "muster-audit"]) {
  const { panels } = JSON.parse(readFileSync(join(root, `charts/muster/files/dashboards/${name}.json`), "utf8"));
  for (const { title, targets } of panels)
    for (const { expr } of targets)
      for (const selector of unscoped(expr)) fail(`${name}, ${title}: ${selector} matches every release`);
}

for (const [alert, { first }] of scenarios) if (!first) fail(`${alert} has no series of its first event`);

const red = process.exitCode ? null : run(scenarios);
if (red !== null) fail(red);
else if (!process.exitCode)
  console.log(`${scenarios.flatMap(testsOf).length} tests of ${new Set(alerts.map(({ alert }) => alert)).size} alerts`);

/** Metrics that an alert queries, through recording rules, too. */
const recorded = new Map(rules.filter(({ record }) => record).map(({ record, expr }) => [record, expr]));
const metricsIn = (expr) =>
  [...expr.matchAll(/\b(?:muster[_:]|process_)[a-z0-9_:]+|\bup\b/g)].flatMap(([name]) =>
    recorded.has(name) ? metricsIn(recorded.get(name)) : [name],
  );
if (process.argv.includes("--mutations")) {
  const users = new Map();
  for (const { alert, expr } of alerts)
    for (const name of metricsIn(expr)) users.set(name, (users.get(name) ?? new Set()).add(alert));
  for (const [name, names] of users) {
    const misspelt = (text) => text.replace(new RegExp(`\\b${name}\\b(?=\\{)`, "g"), `${name}x`);
    if (
      run(
        scenarios.filter(([alert]) => names.has(alert)),
        misspelt,
      ) === null
    )
      fail(`the tests pass with ${name} misspelt`);
  }
  console.log(`${users.size} misspelt metrics are found`);
}
