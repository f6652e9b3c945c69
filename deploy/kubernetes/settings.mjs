// node settings.mjs [--check]: the settings of each workload for the chart and its readers, from the compiled
// config.ts files: charts/muster/files/settings.json (names, bounds, which are secrets: _validate.tpl refuses the rest)
// and docs/operations/settings.md. --check: both are as the settings are.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const compiled = (folder, file = "config") => import(join(root, folder, "dist", `${file}.js`));
const { z } = createRequire(join(root, "gateway/package.json"))("zod");
const { baseUrls, orderErrors, serviceSettings } = await compiled("libs/kit", "index");

const service = async (name, more = {}) => ({
  ...serviceSettings,
  ...more,
  ...(await compiled(`services/${name}`)).settings,
});
/** Services with a copy of the tenants query tenancy (libs/service). */
const copying = { TENANCY_URL: baseUrls("tenancy", "queried for its snapshot") };
const dispatcher = await service("webhook-dispatcher", copying);
const workloads = {
  gateway: (await compiled("gateway")).configSchema.shape,
  identity: await service("identity", copying),
  tenancy: await service("tenancy"),
  audit: await service("audit", copying),
  "audit-retention": (await compiled("services/audit")).retentionSettings,
  "device-logs": await service("device-logs", copying),
  "webhook-matcher": dispatcher,
  "webhook-sender": dispatcher,
  "agent-release": await service("agent-release", copying),
};

const secretName = /PASSWORD|SECRET|PRIVATE|PEPPER|SEED|TOKEN|SMTP_URL|PROXY_URL|APP_ENCRYPTION_KEY/;
const described = (shape) =>
  Object.entries(z.toJSONSchema(z.object(shape), { io: "input", unrepresentable: "any" }).properties).sort(([a], [b]) =>
    a.localeCompare(b),
  );

const orders = ["below", "above", "atMost"];
const phrases = { below: "below", above: "above", atMost: "at most" };
/** Of each workload the settings that an order concerns: the chart compares what is set with what is standard. */
const ordered = Object.fromEntries(
  Object.entries(workloads).map(([workload, shape]) => [
    workload,
    new Set(described(shape).flatMap(([name, of]) => orders.flatMap((order) => (of[order] ? [name, of[order]] : [])))),
  ]),
);

function fact(workload, name, schema) {
  const { type, enum: one, minimum, maximum, format, pattern, shared } = schema;
  const coupling = Object.fromEntries(orders.flatMap((order) => (schema[order] ? [[order, schema[order]]] : [])));
  if (ordered[workload].has(name)) coupling.standard = schema.default;
  if (shared) coupling.shared = true;
  return { ...valuesOf({ name, type, one, minimum, maximum, format, pattern }), ...coupling };
}

function valuesOf({ name, type, one, minimum, maximum, format, pattern }) {
  if (one) return { one };
  if (type === "integer") return { min: minimum, max: maximum };
  if (secretName.test(name)) return { secret: true };
  if (format === "uri") return { pattern: "^https?://" };
  return pattern && !/\(\?[=!<]/.test(pattern) ? { pattern } : {};
}

const facts = Object.fromEntries(
  Object.entries(workloads).map(([name, shape]) => [
    name,
    Object.fromEntries(described(shape).map(([setting, schema]) => [setting, fact(name, setting, schema)])),
  ]),
);

/** An order that is only said, or cannot be kept: each is declared with its setting, by `coupled`. */
function couplingProblems(workload, shape) {
  const all = Object.fromEntries(described(shape));
  return Object.entries(all).flatMap(([name, schema]) => {
    const said = /\b(?:below|above|at most|at least|equal to) (?:[A-Z]+_[A-Z_]+|\w+'s)/i;
    const problems = said.test(schema.description ?? "") ? [`${name} says an order: declare it`] : [];
    if (schema.shared && secretName.test(name)) problems.push(`${name} is a secret: it cannot be compared`);
    for (const other of orders.flatMap((order) => schema[order] ?? [])) {
      if (all[other]?.type !== "integer" || schema.type !== "integer")
        problems.push(`${name} and ${other} are no numbers`);
    }
    const standard = Object.fromEntries(Object.entries(all).map(([each, of]) => [each, of.default]));
    return [...problems, ...orderErrors({ [name]: shape[name] }, standard)].map((problem) => `${workload}: ${problem}`);
  });
}
/** Settings that take any text: names, passwords, folders; what reads a file of TLS names the setting itself. */
const anyText =
  /_(BUCKET|REGION|PREFIX|ACCESS_KEY|ACCESS_KEY_ID|DIRECTORY|DIR|PATH|TOKEN|PEPPER)$|^(JWT_SECRET|MAIL_FROM|PASSKEY_RP_ID|EGRESS_TEST_EXCEPTIONS)$/;
/** A text that no setting can mean is refused at the start, by the setting's name. */
function formatProblems(workload, shape) {
  return Object.entries(shape).flatMap(([name, schema]) => {
    if (anyText.test(name)) return [];
    const { error } = z.object({ [name]: schema }).safeParse({ [name]: "!! no such" });
    return error?.issues.some(({ path }) => path[0] === name)
      ? []
      : [`${workload}: ${name} takes what it cannot read: give it a format (libs/kit/src/setting-formats.ts)`];
  });
}
const problemsOf = (name, shape) => [...couplingProblems(name, shape), ...formatProblems(name, shape)];
for (const problem of Object.entries(workloads).flatMap(([name, shape]) => problemsOf(name, shape))) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}

/** Workloads by setting that processes must share. */
const sharing = {};
for (const [workload, settings] of Object.entries(facts)) {
  for (const [name, { shared }] of Object.entries(settings)) {
    if (shared) sharing[name] = [...(sharing[name] ?? []), workload];
  }
}
function couplingText(name, fact) {
  const kept = orders.filter((order) => fact[order]).map((order) => ` Must be ${phrases[order]} \`${fact[order]}\`.`);
  if (fact.shared) kept.push(` The same for ${sharing[name].join(", ")}.`);
  return kept.join("");
}

const cell = (text) => String(text).replaceAll("|", "\\|").replaceAll("\n", " ");
function bounds({ one, min, max, secret, pattern }) {
  if (one) return one.map((each) => `\`${each}\``).join(", ");
  if (max !== undefined) return max === Number.MAX_SAFE_INTEGER ? `≥ ${min}` : `${min} – ${max}`;
  if (secret) return "secret";
  return pattern === "^https?://" ? "URL" : "";
}
/** Settings that every workload has, or nearly every one, are listed once. */
const everywhere = Object.keys(facts.identity).filter((name) => name in serviceSettings);
function table(workload) {
  const rows = described(workloads[workload])
    .filter(([name]) => workload === "" || !everywhere.includes(name))
    .map(([name, schema]) => {
      const standard = schema.default === undefined || schema.default === "" ? "" : `\`${cell(schema.default)}\``;
      const fact = facts[workload][name];
      const meaning = cell(`${schema.description ?? ""}${couplingText(name, fact)}`);
      return `| \`${name}\` | ${standard} | ${bounds(fact)} | ${meaning} |`;
    });
  return ["| Setting | Default | Values | Meaning |", "|---|---|---|---|", ...rows].join("\n");
}
workloads[""] = serviceSettings;
facts[""] = facts.identity;
const sections = Object.keys(workloads)
  .filter((name) => name !== "" && name !== "webhook-sender")
  .map((name) => `## ${name === "webhook-matcher" ? "webhook-matcher, webhook-sender" : name}\n\n${table(name)}\n`);
const page = `# Settings

Every setting of every process, made from the services' \`config.ts\` by \`node deploy/kubernetes/settings.mjs\`.

- A process takes \`NAME\` from its environment, or \`NAME_FILE\`, the path of a file that holds the value. Wrong settings are all named at the
  start, which then fails; so are two settings of a process that break an order (\`Must be below …\`).
- What must be the same for several processes is compared by each gateway, with one process of each service a minute: a difference is an
  error in its log, in check \`settings\` of \`/readyz?verbose\`, and in \`differentSettings\` of \`GET /api/v1/platform/status\`.
  Matcher and sender, and audit and audit-retention, are compared by the chart alone.
- In the chart they stand under \`services.<workload>.config\`; under \`defaults.config\` for all workloads that have them. Secrets go into
  Secret \`muster-<workload>\`, \`muster-webhook-dispatcher\` for matcher and sender. The chart refuses names that a workload does not have, values out of bounds, orders that are broken,
  different values of a setting that must be the same, and settings that it makes from values of its own.

## Every service, and the gateway and audit-retention where it fits

${table("")}

${sections.join("\n")}`;
delete facts[""];

// One setting a line: changes of two people seldom meet.
const lines = (indent, entries) =>
  entries.map(([name, text]) => `${indent}${JSON.stringify(name)}: ${text}`).join(",\n");
const listed = Object.entries(facts).map(([name, settings]) => {
  const each = Object.entries(settings).map(([setting, of]) => [setting, JSON.stringify(of)]);
  return [name, `{\n${lines("    ", each)}\n  }`];
});
const outputs = {
  "charts/muster/files/settings.json": `{\n${lines("  ", listed)}\n}\n`,
  "docs/operations/settings.md": page,
};
for (const [path, text] of Object.entries(outputs)) {
  if (!process.argv.includes("--check")) writeFileSync(join(root, path), text);
  else if (readFileSync(join(root, path), "utf8") !== text) {
    process.stderr.write(`${path} is not as the settings are: node deploy/kubernetes/settings.mjs\n`);
    process.exitCode = 1;
  }
}
