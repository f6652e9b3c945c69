// node dashboards.mjs: the dashboards of charts/muster/files/dashboards against the fields that Grafana documents for a
// dashboard's JSON model, its panels, variables and Prometheus queries; their expressions by promtool (on the PATH).
// Each of `wrong` must be found.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const { z } = createRequire(join(root, "gateway/package.json"))("zod");
const folder = join(root, "charts/muster/files/dashboards");

const datasource = z.strictObject({ type: z.string(), uid: z.string() });
const moment = z.string().regex(/^(now(-\d+[smhdwMy])?(\/[smhdwMy])?|\d{4}-\d\d-\d\dT.*)$/);
const target = z.strictObject({
  refId: z.string().regex(/^[A-Z]+$/),
  datasource,
  expr: z.string().min(1),
  legendFormat: z.string().optional(),
  interval: z.string().optional(),
  instant: z.boolean().optional(),
  range: z.boolean().optional(),
  exemplar: z.boolean().optional(),
  format: z.enum(["time_series", "table", "heatmap"]).optional(),
  editorMode: z.enum(["code", "builder"]).optional(),
  hide: z.boolean().optional(),
});
/** Ids of units in Grafana's list, those that rates, times and sizes need. */
const units = ["none", "short", "percent", "percentunit", "bytes", "decbytes", "Bps", "s", "ms", "reqps", "ops", "cps"];
const fieldConfig = z.strictObject({
  defaults: z.strictObject({
    unit: z.enum(units).optional(),
    min: z.number().optional(),
    max: z.number().optional(),
    decimals: z.number().int().optional(),
    displayName: z.string().optional(),
    noValue: z.string().optional(),
    thresholds: z.unknown().optional(),
    custom: z.record(z.string(), z.unknown()).optional(),
  }),
  overrides: z.array(z.strictObject({ matcher: z.unknown(), properties: z.array(z.unknown()) })),
});
const panel = z.strictObject({
  id: z.number().int().min(1),
  type: z.enum(["timeseries", "stat", "gauge", "bargauge", "table", "heatmap", "text", "row"]),
  title: z.string().min(1),
  description: z.string().optional(),
  datasource: datasource.optional(),
  gridPos: z
    .strictObject({
      x: z.number().int().min(0).max(23),
      y: z.number().int().min(0),
      w: z.number().int().min(1).max(24),
      h: z.number().int().min(1),
    })
    .refine(({ x, w }) => x + w <= 24, "a panel ends within 24 columns"),
  fieldConfig: fieldConfig.optional(),
  options: z.record(z.string(), z.unknown()).optional(),
  targets: z.array(target),
  transparent: z.boolean().optional(),
  interval: z.string().optional(),
  maxDataPoints: z.number().int().optional(),
  links: z.array(z.unknown()).optional(),
});
const variable = z.strictObject({
  name: z.string().regex(/^\w+$/),
  type: z.enum(["query", "datasource", "constant", "custom", "interval", "textbox", "adhoc"]),
  label: z.string().optional(),
  datasource: datasource.optional(),
  query: z.union([
    z.string(),
    z.strictObject({ query: z.string(), refId: z.string(), qryType: z.number().optional() }),
  ]),
  definition: z.string().optional(),
  refresh: z.literal([0, 1, 2]).optional(),
  sort: z.number().int().min(0).max(8).optional(),
  regex: z.string().optional(),
  hide: z.literal([0, 1, 2]).optional(),
  multi: z.boolean().optional(),
  includeAll: z.boolean().optional(),
  allValue: z.string().optional(),
  current: z.unknown().optional(),
  options: z.array(z.unknown()).optional(),
});
const dashboard = z.strictObject({
  uid: z.string().regex(/^[\w-]{1,40}$/),
  title: z.string().min(1),
  description: z.string().optional(),
  tags: z.array(z.string()),
  schemaVersion: z.number().int().min(30),
  version: z.number().int().optional(),
  editable: z.boolean().optional(),
  graphTooltip: z.literal([0, 1, 2]).optional(),
  timezone: z.string().optional(),
  refresh: z.string().regex(/^\d+[smh]$/),
  time: z.strictObject({ from: moment, to: moment }),
  timepicker: z.unknown().optional(),
  templating: z.strictObject({ list: z.array(variable) }),
  annotations: z.strictObject({ list: z.array(z.unknown()) }).optional(),
  links: z.array(z.unknown()).optional(),
  panels: z.array(panel).min(1),
});

const repeated = (values) => values.find((each, at) => values.indexOf(each) !== at);
const collide = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

/** What is wrong with a dashboard beyond the form of its fields. */
function conflicts({ panels, templating }) {
  const id = repeated(panels.map((each) => each.id));
  const names = new Set([...templating.list.map(({ name }) => name), "__rate_interval", "__interval", "__range"]);
  const text = JSON.stringify({ panels, templating });
  const unknown = [...text.matchAll(/\$\{?(\w+)/g)].map(([, name]) => name).find((name) => !names.has(name));
  return [
    id === undefined ? [] : `two panels have id ${id}`,
    unknown === undefined ? [] : `no variable is named ${unknown}`,
    panels.flatMap(({ title, targets }) =>
      repeated(targets.map(({ refId }) => refId)) ? `${title}: two queries have one refId` : [],
    ),
    panels.flatMap((a, at) =>
      panels.slice(at + 1).flatMap((b) => (collide(a.gridPos, b.gridPos) ? `${a.title} overlaps ${b.title}` : [])),
    ),
  ].flat();
}

const values = { __rate_interval: "5m", __interval: "1m", __range: "1h", namespace: "a", release: "b" };
/** Errors of promtool over the panels' expressions. */
function expressionErrors(dashboards) {
  const rules = dashboards.flatMap(({ uid, panels }) =>
    (panels ?? []).flatMap(({ id, targets }) =>
      targets.map(({ expr, refId }) => ({
        record: `${uid}:${id}:${refId}`.replace(/[^\w:]/g, "_"),
        expr: expr.replace(/\$\{?(\w+)\}?/g, (all, name) => values[name] ?? all),
      })),
    ),
  );
  const work = mkdtempSync(join(tmpdir(), "muster-dashboards-"));
  try {
    writeFileSync(join(work, "rules.json"), JSON.stringify({ groups: [{ name: "panels", rules }] }));
    execFileSync("promtool", ["check", "rules", join(work, "rules.json")], { stdio: ["ignore", "ignore", "pipe"] });
    return [];
  } catch (error) {
    return [String(error.stderr ?? error)];
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function problemsOf(all) {
  const formed = all.flatMap((each) => {
    const { error } = dashboard.safeParse(each);
    if (!error) return conflicts(each).map((problem) => `${each.uid}: ${problem}`);
    return error.issues.map(({ path, message }) => `${each.uid} ${path.join(".")}: ${message}`);
  });
  return formed.length > 0 ? formed : expressionErrors(all);
}

const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
const read = () => files.map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
for (const problem of problemsOf(read())) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}

const wrong = {
  "a misspelt field": ([{ panels }]) => Object.assign(panels[0], { titel: "x" }),
  "an unknown type of panel": ([{ panels }]) => Object.assign(panels[0], { type: "time-series" }),
  "an unknown unit": ([{ panels }]) => Object.assign(panels[0].fieldConfig.defaults, { unit: "requests" }),
  "a panel beyond the grid": ([{ panels }]) => Object.assign(panels[0].gridPos, { x: 13 }),
  "panels on top of one another": ([{ panels }]) => Object.assign(panels[1].gridPos, { x: 6, y: 0 }),
  "one id twice": ([{ panels }]) => Object.assign(panels[1], { id: 1 }),
  "one refId twice": ([{ panels }]) => panels[0].targets.push(panels[0].targets[0]),
  "a variable that is not there": ([{ templating }]) => templating.list.pop(),
  "a variable of no kind": ([{ templating }]) => Object.assign(templating.list[0], { type: "label" }),
  "an expression that cannot be read": ([{ panels }]) => Object.assign(panels[0].targets[0], { expr: "sum(" }),
  "a refresh without unit": ([one]) => Object.assign(one, { refresh: "30" }),
};
for (const [name, change] of Object.entries(wrong)) {
  const all = read();
  change(all);
  if (problemsOf(all).length > 0) continue;
  process.stderr.write(`${name} is not found\n`);
  process.exitCode = 1;
}
if (!process.exitCode)
  console.log(`${files.length} dashboards have documented fields; ${Object.keys(wrong).length} mistakes are found`);
