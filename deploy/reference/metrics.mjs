// The reference of metrics: what the compiled modules declare, and the alerts that query each.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";

const declares = /\b(counter|gauge|histogram)\(/;

/** Compiled modules that declare metrics, by the part of the product to which they belong. */
function modules(root, folder) {
  return (
    readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(".js") && entry.name !== "main.js")
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
      // The compiler leaves what it made of files that went.
      .filter((path) => existsSync(path.replace("/dist/", "/src/").replace(/\.js$/, ".ts")))
      .filter((path) => !/\.test\.js$|\/testing\//.test(path) && declares.test(readFileSync(path, "utf8")))
      .sort()
  );
}

const folders = (root, parent) =>
  readdirSync(join(root, parent), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => `${parent}/${entry.name}`);

/** Alerts and the names of series that each queries, directly or through recording rules. */
function alertsOf(root) {
  const { parse } = createRequire(join(root, "package.json"))("yaml");
  const rules = parse(readFileSync(join(root, "charts/muster/files/rules.yaml"), "utf8")).groups.flatMap(
    ({ rules }) => rules,
  );
  const recorded = new Map(rules.filter(({ record }) => record).map(({ record, expr }) => [record, expr]));
  const namesIn = (expr) =>
    [...expr.matchAll(/[a-z][a-z0-9_:]*/g)].flatMap(([name]) =>
      recorded.has(name) ? namesIn(recorded.get(name)) : [name],
    );
  return rules.filter(({ alert }) => alert).map(({ alert, expr }) => ({ alert, names: new Set(namesIn(expr)) }));
}

const cell = (text) => String(text).replace(/\.$/, "").replaceAll("|", "\\|").replaceAll("\n", " ");
const series = (name, type) =>
  type === "histogram" ? [name, `${name}_bucket`, `${name}_count`, `${name}_sum`] : [name];

/** Every metric of our own: `{name, type, labels, help, part}`, in the order of their names. */
export async function metricsOf(root) {
  const { register } = createRequire(join(root, "libs/kit/package.json"))("prom-client");
  const found = new Map();
  for (const folder of [...folders(root, "libs"), "gateway", ...folders(root, "services")]) {
    for (const path of modules(root, `${folder}/dist`)) {
      await import(pathToFileURL(path).href);
      for (const metric of register.getMetricsAsArray())
        if (!found.has(metric.name))
          found.set(metric.name, { ...described(metric), part: folder, file: relative(root, path) });
    }
  }
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name));
}

const described = ({ name, help, type, labelNames }) => ({ name, help, type, labels: labelNames });

function table(metrics, alerts) {
  const rows = metrics.map(({ name, type, labels, help }) => {
    const by = alerts.filter(({ names }) => series(name, type).some((each) => names.has(each)));
    const links = by.map(({ alert }) => `[${alert}](alerts.md#${alert.toLowerCase()})`).join(", ");
    return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${cell(help)} | ${links} |`;
  });
  return ["| Metric | Type | Labels | Meaning | Alerts |", "|---|---|---|---|---|", ...rows].join("\n");
}

export async function metricsPage(root) {
  const metrics = await metricsOf(root);
  const alerts = alertsOf(root);
  const sections = [...new Set(metrics.map(({ part }) => part))].map((part) => {
    const title = part.startsWith("libs/") ? `Shared: ${part.slice(5)}` : part.replace("services/", "");
    return `## ${title}\n\n${table(
      metrics.filter((metric) => metric.part === part),
      alerts,
    )}\n`;
  });
  return {
    "docs/operations/metrics.md": `# Metrics

${intro}

${sections.join("\n")}`,
  };
}

const parts =
  /\bmuster_(?:gateway|identity|tenancy|audit|device_logs|webhook_dispatcher|agent_release|rpc|db|bus|outbox|process|build)_[a-z0-9_]+/g;
/** Roles of the database are named like metrics. */
const role = /_(app|pruner|owner)$/;

function texts(root, folder, ending) {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && ending.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

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
export async function metricFaults(root) {
  const known = new Set((await metricsOf(root)).flatMap(({ name, type }) => series(name, type)));
  const queries = [
    ...texts(root, "charts/muster/files", /\.(ya?ml|json)$/),
    join(root, "charts/muster/templates/availability.yaml"),
    ...texts(root, "docs", /\.md$/),
    ...texts(root, "deploy/bench/src", /\.ts$/),
    ...texts(root, "deploy/kubernetes/cluster", /\.mjs$/),
  ];
  const unknown = queries.flatMap((path) =>
    [...new Set(readFileSync(path, "utf8").match(parts))]
      .filter((name) => !known.has(name) && !role.test(name) && !name.endsWith("_"))
      .map((name) => `${relative(root, path)}: no code has the metric ${name}`),
  );
  const late = ["libs", "services", "gateway/src"]
    .flatMap((folder) => texts(root, folder, /(?<!\.test)\.ts$/))
    .filter((path) => !/\/(node_modules|dist|generated)\//.test(path))
    .flatMap((path) => [...readFileSync(path, "utf8").matchAll(/\b(?:counter|gauge|histogram)\(\s*"(\w+)"/g)])
    .filter(([, name]) => !known.has(name))
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

const intro = `Every metric of Muster's own, made from the code by \`node deploy/reference/generate.mjs\`.

- Each process serves them at \`GET /metrics\` of its operations port, with those of Node and the process (\`nodejs_*\`, \`process_*\`).
- Names are \`muster_<part>_<noun>\`, then the base unit or \`_total\` for counters. A histogram has \`_bucket\`, \`_count\` and \`_sum\`.
- Shared parts appear in every process that uses them: \`service\`, set by the scrape, tells them apart.`;
