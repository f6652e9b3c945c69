// Which suites are in which part of all tests: `first` (`npm test`) or `rest` (`npm run test:rest`). Without a part
// jest runs every suite, and those that sample run in full.

/** End-to-end suites of the first part: a sign-in and one life per resource, on the shared cluster alone. */
export const lives = [
  "audit/export",
  "audit/logs",
  "devices/agents",
  "devices/changes",
  "devices/devices",
  "devices/enrollment-keys",
  "devices/groups",
  "devices/logs",
  "keys/api-keys",
  "keys/service-principals",
  "platform/status",
  "platform/trust",
  "platform/waiting-calls",
  "platform/wire",
  "sign-in/login",
  "sign-in/passkeys",
  "sign-in/second-factor",
  "sso/id-token",
  "support/documented",
  "support/sample",
  "tenants/organizations",
  "tenants/partners",
  "tenants/sites",
  "users/users",
  "webhooks/order-replay-and-streams",
];

/** In the first part a sample of each, by the run's seed (gateway/e2e/support/sample.ts); in the rest the whole. */
export const sampled = ["isolation/audit-rows", "isolation/bad-input", "isolation/isolation"];

/**
 * Suites of packages that are in the rest: they kill processes, start whole clusters, wait for real time-outs or take
 * ten seconds of a worker, and what they promise seldom breaks without another suite of the same package.
 */
export const long = [
  "deploy/agent-sim/src/fleet",
  "deploy/agent-sim/src/updates",
  "deploy/agent/src/bad-disk",
  "deploy/agent/src/bad-input",
  "deploy/agent/src/install/power-cut",
  "deploy/agent/src/install/supervise",
  "deploy/agent/src/kill-installer",
  "deploy/agent/src/kill-nine",
  "deploy/agent/src/real-agent",
  "deploy/local/src/compose-setup",
  "deploy/local/src/guard",
  "deploy/local/src/keep-running",
  "deploy/local/src/standby",
  "deploy/mutation/src/runner",
  "deploy/release/src/local",
  "deploy/release/src/npm",
  "deploy/release/src/release",
  "deploy/release/src/unpacked",
  "gateway/src/channel/hub",
  "gateway/src/http/body",
  "gateway/src/patterns",
  "libs/bus/src/deliveries",
  "libs/bus/src/recovery",
  "libs/db/src/checks/check-schema",
  "libs/egress/src/bad-receivers",
  "libs/kit/src/telemetry/telemetry",
  "libs/rpc/src/client/restart",
  "libs/service/src/check-only",
  "services/agent-release/src/rpc/update-generated",
  "services/audit/src/jobs/exporter",
  "services/audit/src/jobs/streamer",
  "services/audit/src/rpc/export",
  "services/device-logs/src/rpc/live",
  "services/identity/src/events/tenant-copy",
  "services/webhook-dispatcher/src/events/two-matchers",
  "services/webhook-dispatcher/src/jobs/maintenance",
  "services/webhook-dispatcher/src/jobs/replayer",
  "services/webhook-dispatcher/src/rpc/limits",
  "services/webhook-dispatcher/src/rules/verify-examples",
  "services/webhook-dispatcher/src/sender/changes",
  "services/webhook-dispatcher/src/sender/leases",
  "services/webhook-dispatcher/src/sender/shares",
];

const anyOf = (names) => `(${names.join("|")})\\.test\\.ts$`;

/** Patterns of the paths that a part leaves out. Throws for a name that is no part. */
export function leftOut(part) {
  switch (part) {
    case undefined:
      return [];
    case "first":
      return [`/gateway/e2e/(?!${anyOf([...lives, ...sampled])})`, `/${anyOf(long)}`];
    case "rest":
      return [`^(?!.*(?:/gateway/e2e/|/${anyOf(long)}))`, `/gateway/e2e/${anyOf(lives)}`];
    default:
      throw new Error(`TEST_PART is "${part}": it is first or rest`);
  }
}
