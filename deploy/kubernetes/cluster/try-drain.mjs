import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { dir, figures, helm, kubectl, load, must, rate, root, say, sleep, until, workloads } from "./client.mjs";
import { kinds } from "./kept-logs.mjs";
import { mixture, online } from "./try-operations.mjs";

/**
 * Evicts a pod as `kubectl drain` does: asked again each second while the disruption budget refuses; returns how often
 * it did.
 */
async function evict(pod) {
  const body = join(dir, `evict-${pod}.json`);
  writeFileSync(
    body,
    JSON.stringify({ apiVersion: "policy/v1", kind: "Eviction", metadata: { name: pod, namespace: "muster" } }),
  );
  let refused = 0;
  await until(
    `${pod} is evicted`,
    () =>
      kubectl("create", "--raw", `/api/v1/namespaces/muster/pods/${pod}/eviction`, "-f", body).catch(async (error) => {
        must(/disruption budget/.test(error.stderr), `only its budget keeps ${pod}: ${error.stderr}`);
        refused += 1;
        await sleep(750);
      }),
    180_000,
  );
  return refused;
}

/** Two pods of everything are all evicted at once, as by drains of two nodes: no request fails. */
export async function drain(session) {
  const scaled = [
    "defaults.replicas=2",
    "services.webhook-matcher.replicas=2",
    "services.audit-retention.replicas=2",
    // Three pods of everything, while new ones start, are to find room on one small node.
    "defaults.resources.requests.cpu=10m",
    ...["gateway", "identity", "tenancy", "audit"].map((name) => `services.${name}.resources.requests.cpu=20m`),
  ].flatMap((value) => ["--set", value]);
  const values = join(root, "charts/muster/ci/cluster-values.yaml");
  // Numbers of pods that `kubectl scale` has set in a part before are taken back (docs/operations/scaling.md).
  const ours = ["--force-conflicts", "--wait", "--timeout", "5m"];
  await helm("upgrade", "muster", join(root, "charts/muster"), "-f", values, ...scaled, ...ours);
  const pods = JSON.parse(await kubectl("get", "pods", "-o", "json")).items.filter(
    ({ metadata }) => !metadata.deletionTimestamp && workloads.includes(metadata.labels["app.kubernetes.io/component"]),
  );
  must(pods.length === 2 * workloads.length, `two pods of each workload (${pods.length})`);
  const running = load(rate / 4, mixture(session));
  await sleep(1_000);
  const refused = await Promise.all(pods.map(({ metadata }) => evict(metadata.name)));
  for (const name of workloads) await kubectl("rollout", "status", `deployment/muster-${name}`, "--timeout=180s");
  const { sent, failed, slowestMs } = await running.stop();
  const times = refused.reduce((sum, each) => sum + each, 0);
  figures({ "requests failed while pods are evicted": failed.length });
  must(times > 0, "the disruption budgets keep the second pod until the first is replaced");
  must(failed.length === 0, `no request fails while pods are evicted: ${kinds(failed)}`);
  await until("agents online after the drain", async () => (await online(session)) === 5, 60_000);
  const counted = `0 of ${sent} failed, slowest ${Math.round(slowestMs)} ms`;
  say(`${pods.length} pods of two drained nodes evicted, refused ${times} times by their budgets: ${counted}`);
}
