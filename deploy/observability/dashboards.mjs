// node dashboards.mjs [--check]: writes the Grafana dashboards of charts/muster/files/dashboards, or compares them with
// what it would write. A panel is a title, a unit and its queries; its position follows from its order.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { scoped } from "./scope.mjs";

const by = (quantile, metric, labels) =>
  `histogram_quantile(${quantile}, sum by (le, ${labels}) (rate(${metric}_bucket[$__rate_interval])))`;

const dashboards = {
  "muster-overview": {
    title: "Muster / Overview",
    panels: [
      [
        "Requests per second by status",
        "reqps",
        { "{{status}}": "sum by (status) (rate(muster_gateway_http_requests_total[$__rate_interval]))" },
      ],
      [
        "Share of requests that fail (5xx)",
        "percentunit",
        { "5 min": "muster:http_error_ratio:5m", "1 h": "muster:http_error_ratio:1h" },
      ],
      [
        "Slowest routes, p99",
        "s",
        { "{{route}}": `topk(8, ${by(0.99, "muster_gateway_http_request_duration_seconds", "route")})` },
      ],
      [
        "Requests refused because of load",
        "reqps",
        {
          "{{class}} {{reason}}":
            "sum by (class, reason) (rate(muster_gateway_overload_rejected_total[$__rate_interval]))",
        },
      ],
      [
        "RPCs, p99 by service",
        "s",
        { "{{service}}": by(0.99, "muster_rpc_server_request_duration_seconds", "service") },
      ],
      [
        "Transactions, p99 by database",
        "s",
        { "{{database}}": by(0.99, "muster_db_transaction_duration_seconds", "database") },
      ],
      [
        "Transactions that wait for a connection",
        "short",
        { "{{service}}": "max by (service) (muster_db_pool_waiting_transactions)" },
      ],
      [
        "Oldest event in an outbox",
        "s",
        { "{{database}}": "max by (database) (muster_outbox_oldest_unpublished_age_seconds)" },
      ],
      [
        "Messages that wait for a consumer",
        "short",
        { "{{stream}} {{durable}}": "max by (stream, durable) (muster_bus_consumer_pending_messages)" },
      ],
      ["Memory", "bytes", { "{{service}}": "max by (service) (process_resident_memory_bytes)" }],
      ["CPU", "short", { "{{service}}": "sum by (service) (rate(process_cpu_seconds_total[$__rate_interval]))" }],
      ["Event loop, p99", "s", { "{{service}}": "max by (service) (nodejs_eventloop_lag_p99_seconds) - 0.25" }],
    ],
  },
  "muster-webhooks": {
    title: "Muster / Webhooks",
    panels: [
      ["Lateness of the oldest due delivery", "s", { late: "max(muster_webhook_dispatcher_oldest_due_age_seconds)" }],
      ["Deliveries that wait", "short", { waiting: "max(muster_webhook_dispatcher_queued_deliveries)" }],
      [
        "Attempts per second by outcome",
        "ops",
        { "{{outcome}}": "sum by (outcome) (rate(muster_webhook_dispatcher_attempts_total[$__rate_interval]))" },
      ],
      ["Requests in flight", "short", { "{{pod}}": "sum by (pod) (muster_webhook_dispatcher_requests_in_flight)" }],
      [
        "Events matched per second",
        "ops",
        { events: "sum(rate(muster_webhook_dispatcher_events_matched_total[$__rate_interval]))" },
      ],
      [
        "Events that wait to be matched",
        "short",
        { pending: 'max(muster_bus_consumer_pending_messages{stream="EVENTS"})' },
      ],
      [
        "Dead letters per hour",
        "short",
        { "dead letters": "sum(increase(muster_webhook_dispatcher_dead_letters_total[1h]))" },
      ],
      [
        "Breakers that opened per hour",
        "short",
        { opened: "sum(increase(muster_webhook_dispatcher_breaker_opened_total[1h]))" },
      ],
    ],
  },
  "muster-audit": {
    title: "Muster / Audit trail and logs",
    panels: [
      ["Rows sealed per second", "ops", { sealed: "sum(rate(muster_audit_rows_sealed_total[$__rate_interval]))" }],
      [
        "Events that wait to be sealed",
        "short",
        { "{{durable}}": 'max by (durable) (muster_bus_consumer_pending_messages{stream="AUDIT"})' },
      ],
      [
        "Age of the last checkpoint round",
        "s",
        { age: "time() - max(muster_audit_checkpointer_last_success_timestamp_seconds)" },
      ],
      [
        "Rejected events per hour",
        "short",
        { "{{service}}": "sum by (service) (increase(muster_audit_events_rejected_total[1h]))" },
      ],
      ["Streams: rows behind", "short", { rows: "max(muster_audit_stream_lag_rows)" }],
      ["Rows pruned per hour", "short", { rows: "sum(increase(muster_audit_retention_rows_pruned_total[1h]))" }],
      [
        "Device log rows per second",
        "ops",
        { rows: "sum(rate(muster_device_logs_rows_stored_total[$__rate_interval]))" },
      ],
      ["Live queries in flight", "short", { queries: "sum(muster_device_logs_live_queries_in_flight)" }],
    ],
  },
};

// biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of Grafana
const datasource = { type: "prometheus", uid: "${datasource}" };

/** Variables of Grafana: one release of those that the data source knows. */
const release = 'namespace="$namespace",release="$release"';
const variable = (name, query) => ({
  name,
  type: "query",
  datasource,
  query: { query, refId: name },
  definition: query,
  refresh: 2,
  sort: 1,
});
const variables = [
  { name: "datasource", type: "datasource", query: "prometheus", label: "Data source" },
  variable("namespace", 'label_values(up{service="gateway"}, namespace)'),
  variable("release", 'label_values(up{service="gateway",namespace="$namespace"}, release)'),
];

function render(uid, { title, panels }) {
  return {
    uid,
    title,
    tags: ["muster"],
    schemaVersion: 39,
    refresh: "30s",
    time: { from: "now-3h", to: "now" },
    templating: { list: variables },
    panels: panels.map(([name, unit, queries], index) => ({
      id: index + 1,
      type: "timeseries",
      title: name,
      datasource,
      gridPos: { x: (index % 2) * 12, y: Math.floor(index / 2) * 8, w: 12, h: 8 },
      fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
      targets: Object.entries(queries).map(([legendFormat, expr], at) => ({
        refId: String.fromCharCode(65 + at),
        datasource,
        expr: scoped(expr, release),
        legendFormat,
      })),
    })),
  };
}

for (const [uid, dashboard] of Object.entries(dashboards)) {
  const file = fileURLToPath(new URL(`../../charts/muster/files/dashboards/${uid}.json`, import.meta.url));
  const text = `${JSON.stringify(render(uid, dashboard), null, 1)}\n`;
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (readFileSync(file, "utf8") !== text) {
    process.stderr.write(`${file} is not what deploy/observability/dashboards.mjs writes: run it\n`);
    process.exitCode = 1;
  }
}
