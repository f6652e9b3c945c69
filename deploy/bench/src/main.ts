/** Benches by name; each runs by itself and prints one table. */
const benches: Record<string, () => Promise<{ run(args: string[]): Promise<void> }>> = {
  rpc: () => import("./rpc.ts"),
  http: () => import("./http.ts"),
  auth: () => import("./auth.ts"),
  read: () => import("./read.ts"),
  chaos: () => import("./chaos.ts"),
  storm: () => import("./storm.ts"),
  webhooks: () => import("./webhooks.ts"),
  "webhooks-paced": () => import("./webhooks-paced.ts"),
  "webhooks-fairness": () => import("./webhooks-fairness.ts"),
  "webhooks-e2e": () => import("./webhooks-e2e.ts"),
  "webhooks-services": () => import("./webhooks-services.ts"),
  "webhooks-chaos": () => import("./webhooks-chaos.ts"),
  failover: () => import("./failover.ts"),
  restore: () => import("./restore.ts"),
  upgrade: () => import("./upgrade.ts"),
  scaling: () => import("./scaling.ts"),
  memory: () => import("./memory.ts"),
  growth: () => import("./growth.ts"),
  agents: () => import("./agents.ts"),
  enrollments: () => import("./enrollments.ts"),
  heartbeat: () => import("./heartbeat.ts"),
  rollout: () => import("./rollout.ts"),
  download: () => import("./download.ts"),
  logins: () => import("./logins.ts"),
  sso: () => import("./sso.ts"),
  abuse: () => import("./abuse.ts"),
  ingest: () => import("./ingest.ts"),
  live: () => import("./live.ts"),
  usage: () => import("./usage.ts"),
  revocations: () => import("./revocations.ts"),
  "key-lists": () => import("./key-lists.ts"),
  "user-lists": () => import("./user-lists.ts"),
  console: () => import("./console.ts"),
  "login-timing": () => import("./login-timing.ts"),
  "audit-flow": () => import("./audit-flow.ts"),
  "audit-growth": () => import("./audit-growth.ts"),
  "audit-reports": () => import("./audit-reports.ts"),
  "audit-lists": () => import("./audit-lists.ts"),
  "audit-verify": () => import("./audit-verify.ts"),
  "audit-seal": () => import("./audit-seal.ts"),
};

const [name = "", ...args] = process.argv.slice(2);
const load = Object.hasOwn(benches, name) ? benches[name] : undefined;
if (load) await (await load()).run(args);
else {
  console.error(`usage: npm run bench -- <${Object.keys(benches).join("|")}>`);
  process.exitCode = 2;
}
