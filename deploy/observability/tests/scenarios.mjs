// What each alert watches, as series of one release with one sample a minute. `fires` makes it fire at `at`; `healthy`
// is just below. `first` is the first event of a counter that was 0, a process's first failure, or a value whose first
// sample is beyond its limit; `alone` says whether that fires, too; `absent` whether it fires without any series.
const counter = (name, labels, values) => ({ name, labels, values });
const http = (status, values) => counter("muster_gateway_http_requests_total", { route: "/a", status }, values);
const slow = (le, values) =>
  counter("muster_gateway_http_request_duration_seconds_bucket", { route: "/a", le }, values);
const pending = (values, stream = "AUDIT", durable = "sealer-3") =>
  counter("muster_bus_consumer_pending_messages", { stream, durable }, values);
const up = (service, pod, values) => counter("up", { service, pod, instance: "10.0.0.1:9090" }, values);
const sealed = (values) => counter("muster_audit_rows_sealed_total", {}, values);
const replica = (values) => counter("muster_db_replica_lag_seconds", { database: "audit" }, values);

/** A counter whose first event alerts. */
const onFirst = (severity, name, labels, shown = labels) => ({
  severity,
  at: 20,
  labels: shown,
  fires: [counter(name, labels, "0+1x30")],
  healthy: [counter(name, labels, "0x30")],
  first: [counter(name, labels, "0x5 1x30")],
  alone: true,
});

/** A value that alerts above a limit, or below it. */
const onValue = (severity, at, name, labels, { high, low, shown = labels }) => ({
  severity,
  at,
  labels: shown,
  fires: [counter(name, labels, high)],
  healthy: [counter(name, labels, low)],
  first: [counter(name, labels, `_ ${high}`)],
  alone: true,
});

/** A workload of two pods. */
const onWorkload = (service) => ({
  severity: "page",
  at: 15,
  labels: { service },
  fires: [up(service, "a", "1x5 0x15"), up(service, "b", "0x20")],
  healthy: [up(service, "a", "0x20"), up(service, "b", "1x20")],
  first: [up(service, "a", "1x3 _x17")],
  alone: true,
  absent: true,
});

const workloads = [
  "gateway",
  "identity",
  "tenancy",
  "audit",
  "audit-retention",
  "device-logs",
  "webhook-matcher",
  "agent-release",
];

/** `[alert, scenario]`, at least one of each alert. */
export const scenarios = [
  [
    "MusterErrorBudgetBurnsFast",
    {
      severity: "page",
      at: 90,
      fires: [http("200", "0+98x90"), http("503", "0+2x90")],
      healthy: [http("200", "0+1999x90"), http("503", "0+1x90")],
      first: [http("200", "0+100x90"), http("503", "0x80 1x10")],
    },
  ],
  [
    "MusterErrorBudgetBurnsSlowly",
    {
      severity: "ticket",
      at: 400,
      fires: [http("200", "0+99x400"), http("500", "0+1x400")],
      healthy: [http("200", "0+1999x400"), http("500", "0+1x400")],
      first: [http("200", "0+100x400"), http("500", "0x390 1x10")],
    },
  ],
  [
    "MusterRequestsAreSlow",
    {
      severity: "ticket",
      at: 25,
      fires: [slow("1", "0+97x30"), slow("2.5", "0+100x30"), slow("+Inf", "0+100x30")],
      healthy: [slow("1", "0+995x30"), slow("2.5", "0+1000x30"), slow("+Inf", "0+1000x30")],
      first: [slow("1", "0x30"), slow("2.5", "0x15 1x15"), slow("+Inf", "0x15 1x15")],
    },
  ],
  [
    "MusterRequestsAreShed",
    {
      severity: "ticket",
      at: 15,
      labels: { class: "stream" },
      fires: [counter("muster_gateway_overload_rejected_total", { class: "stream", reason: "lag" }, "0+70x20")],
      healthy: [counter("muster_gateway_overload_rejected_total", { class: "stream", reason: "lag" }, "0+50x20")],
      first: [counter("muster_gateway_overload_rejected_total", { class: "stream", reason: "lag" }, "0x5 1x20")],
    },
  ],
  [
    "MusterGatewayLosesLease",
    {
      severity: "ticket",
      at: 10,
      fires: [counter("muster_gateway_lease_lost_total", {}, "0x5 4x10")],
      healthy: [counter("muster_gateway_lease_lost_total", {}, "0x5 3x10")],
      first: [counter("muster_gateway_lease_lost_total", {}, "0x5 1x10")],
    },
  ],
  [
    "MusterRateLimitDegraded",
    {
      severity: "ticket",
      at: 20,
      fires: [counter("muster_gateway_rate_limit_reservations_total", { outcome: "failed" }, "0+1x30")],
      healthy: [counter("muster_gateway_rate_limit_reservations_total", { outcome: "ok" }, "0+60x30")],
      first: [counter("muster_gateway_rate_limit_reservations_total", { outcome: "failed" }, "0x5 1x30")],
    },
  ],
  [
    "MusterNoRelay",
    onValue(
      "page",
      20,
      "muster_outbox_relay_last_success_timestamp_seconds",
      { database: "identity" },
      {
        high: "0+60x10 600x20",
        low: "0+60x30",
      },
    ),
  ],
  [
    "MusterOutboxIsOld",
    onValue(
      "page",
      5,
      "muster_outbox_oldest_unpublished_age_seconds",
      { database: "identity" },
      {
        high: "0 30 90 150 210 270",
        low: "60x10",
      },
    ),
  ],
  ["MusterOutboxDeadLetters", onFirst("page", "muster_outbox_dead_letters_total", { database: "audit" })],
  [
    "MusterConsumerLags",
    {
      severity: "ticket",
      at: 15,
      labels: { stream: "EVENTS", durable: "matcher" },
      fires: [pending("50001x20", "EVENTS", "matcher")],
      healthy: [pending("50000x20", "EVENTS", "matcher")],
      first: [pending("_ 50001x20", "EVENTS", "matcher")],
      alone: true,
    },
  ],
  [
    "MusterConsumerDeadLetters",
    onFirst("ticket", "muster_bus_consumer_dead_letters_total", { stream: "EVENTS", durable: "matcher" }),
  ],
  [
    "MusterWebhooksAreLate",
    onValue(
      "page",
      7,
      "muster_webhook_dispatcher_oldest_due_age_seconds",
      {},
      {
        high: "0 61 120 180 240 300 360 420",
        low: "60x10",
      },
    ),
  ],
  [
    "MusterWebhookDeadLetters",
    {
      severity: "ticket",
      at: 60,
      fires: [counter("muster_webhook_dispatcher_dead_letters_total", {}, "0x5 101x60")],
      healthy: [counter("muster_webhook_dispatcher_dead_letters_total", {}, "0x5 100x60")],
      first: [counter("muster_webhook_dispatcher_dead_letters_total", {}, "0x5 1x60")],
    },
  ],
  [
    "MusterSealingLags",
    {
      severity: "page",
      at: 8,
      fires: [pending("10001x10")],
      healthy: [pending("10000x10")],
      first: [pending("_ 10001x10")],
      alone: true,
    },
  ],
  [
    "MusterNoSealer",
    {
      severity: "page",
      at: 25,
      fires: [pending("5x30"), sealed("7x30")],
      healthy: [pending("5x30"), sealed("0+1x30")],
      first: [pending("0x30"), sealed("0x30")],
      absent: true,
    },
  ],
  ["MusterAuditEventsRejected", onFirst("page", "muster_audit_events_rejected_total", { service: "tenancy" })],
  ["MusterAuditEventsDropped", onFirst("page", "muster_audit_events_dropped_total", { service: "tenancy" })],
  ["MusterAuditChainContradicted", onFirst("page", "muster_audit_chain_contradictions_total", {})],
  [
    "MusterCheckpointsStopped",
    onValue(
      "ticket",
      40,
      "muster_audit_checkpointer_last_success_timestamp_seconds",
      {},
      {
        high: "0+60x10 600x40",
        low: "0+60x50",
      },
    ),
  ],
  [
    "MusterRetentionStopped",
    onValue(
      "ticket",
      300,
      "muster_audit_retention_last_success_timestamp_seconds",
      {},
      { high: "0x400", low: "3600x400" },
    ),
  ],
  [
    "MusterAuditStreamLags",
    onValue("ticket", 20, "muster_audit_stream_lag_seconds", {}, { high: "901x30", low: "900x30" }),
  ],
  [
    "MusterSsoCertificateExpires",
    onValue(
      "ticket",
      90,
      "muster_identity_sso_certificate_expiry_seconds",
      {},
      {
        high: `${13 * 86_400}x100`,
        low: `${14 * 86_400}x100`,
      },
    ),
  ],
  [
    "MusterMailDropped",
    onFirst(
      "ticket",
      "muster_identity_mail_attempts_total",
      { kind: "invite", outcome: "dropped" },
      { kind: "invite" },
    ),
  ],
  ["MusterRolloutHalted", onFirst("ticket", "muster_agent_release_rollouts_halted_total", {})],
  ...workloads.map((service) => ["MusterWorkloadDown", onWorkload(service)]),
  ["MusterNoSenders", onWorkload("webhook-sender")],
  [
    "MusterPodDown",
    {
      severity: "ticket",
      at: 15,
      labels: { service: "audit", pod: "a", instance: "10.0.0.1:9090" },
      fires: [up("audit", "a", "0x20"), up("audit", "b", "1x20")],
      healthy: [up("audit", "a", "0x8 1x20"), up("audit", "b", "1x20")],
      first: [up("audit", "a", "_x2 0x20"), up("audit", "b", "1x20")],
      alone: true,
    },
  ],
  [
    "MusterPoolIsExhausted",
    onValue(
      "ticket",
      8,
      "muster_db_pool_waiting_transactions",
      { service: "audit", database: "audit" },
      {
        high: "11x10",
        low: "10x10",
      },
    ),
  ],
  [
    "MusterReplicaLags",
    {
      severity: "ticket",
      at: 15,
      labels: { database: "audit" },
      fires: [replica("31x20")],
      healthy: [replica("30x20")],
      first: [replica("1x2 -1x18")],
      alone: true,
    },
  ],
  [
    "MusterProcessRestarts",
    {
      severity: "ticket",
      at: 9,
      labels: { service: "audit" },
      fires: [counter("process_start_time_seconds", { service: "audit" }, "1 1 2 2 3 3 4 4 5 5")],
      healthy: [counter("process_start_time_seconds", { service: "audit" }, "1 1 2 2 3 3 4 4 4 4")],
      first: [counter("process_start_time_seconds", { service: "audit" }, "1x5 2x5")],
    },
  ],
];
