// The reference of metrics: what the compiled modules declare, and the alerts that query each.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { filesIn } from "./repository.mjs";

const declares = /\b(counter|gauge|histogram)\(/;

/** Compiled modules that declare metrics, by the part of the product to which they belong. */
function modules(root, folder) {
  return (
    filesIn(join(root, folder), /(?<!^main)\.js$/)
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
export function alertsOf(root) {
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
export const series = (name, type) =>
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

export function metricsPage(root, metrics) {
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

const intro = `Every metric of Muster's own, made from the code by \`node deploy/reference/generate.mjs\`.

- Each process serves them at \`GET /metrics\` of its operations port, with those of Node and the process (\`nodejs_*\`, \`process_*\`).
- Names are \`muster_<part>_<noun>\`, then the base unit or \`_total\` for counters. A histogram has \`_bucket\`, \`_count\` and \`_sum\`.
- Shared parts appear in every process that uses them: \`service\`, set by the scrape, tells them apart.`;
