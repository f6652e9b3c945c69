// node trial.mjs DIR [PART…]: installs the chart on the cluster of up.sh and data.sh, and tries what its users rely on.
// Runs on the node (in.sh), so that Services are reached by name and address.
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import {
  dir,
  figures,
  healthyStarts,
  helm,
  kubectl,
  noRestarts,
  record,
  root,
  say,
  settled,
  watchMemory,
  workloads,
} from "./client.mjs";
import { keepLogs } from "./kept-logs.mjs";
import { demo } from "./try-demo.mjs";
import { dispatcher } from "./try-dispatcher.mjs";
import { drain } from "./try-drain.mjs";
import { keda } from "./try-keda.mjs";
import { autoscaler, certificates, forced, rollout, stores, upgrade } from "./try-operations.mjs";
import { policy } from "./try-policy.mjs";
import { restore, rotate } from "./try-runbooks.mjs";
import { smoke } from "./try-smoke.mjs";

const scaled = process.env.KEDA === "1" ? { autoscaler, keda } : { autoscaler };
const parts = {
  smoke,
  policy,
  rollout,
  dispatcher,
  upgrade,
  forced,
  stores,
  certificates,
  drain,
  ...scaled,
  rotate,
  restore,
};
const wanted = process.argv.slice(3);

async function install() {
  const namespace = {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "muster", labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
  };
  writeFileSync(join(dir, "namespace.json"), JSON.stringify(namespace));
  await kubectl("apply", "-f", join(dir, "namespace.json"));
  const values = join(root, "charts/muster/ci/cluster-values.yaml");
  const refused = await helm("install", "muster", join(root, "charts/muster"), "-f", values).catch(
    (error) => error.stderr,
  );
  if (!/Secret muster-[a-z-]+ does not exist in namespace muster: make it with/.test(refused)) {
    throw new Error(`helm install without Secrets answered: ${refused}`);
  }
  say("helm install without Secrets is refused, with the cure");
  for (const file of ["keys/secrets.json", "tls/secrets.yaml"]) await kubectl("apply", "-f", join(dir, file));
  await helm("install", "muster", join(root, "charts/muster"), "-f", values, "--wait", "--timeout", "5m");
  const pods = JSON.parse(await kubectl("get", "pods", "-o", "json")).items;
  const running = new Set(pods.map(({ metadata }) => metadata.labels["app.kubernetes.io/component"]));
  for (const name of workloads) if (!running.has(name)) throw new Error(`no pod of ${name}`);
  say(`helm install --wait: ${pods.length} pods ready under Pod Security "restricted"; ${await healthyStarts()}`);
}

const time = new Date().toISOString();
const [loadBefore] = loadavg();
keepLogs();
const failed = [];
if (wanted.length === 0 || wanted.includes("demo")) {
  await demo().catch((error) => {
    failed.push("demo");
    say(`demo FAILED: ${error.stack}`);
  });
}
if (!wanted.includes("installed")) await install();
const memory = watchMemory();
const session = {};
for (const [name, part] of Object.entries(parts)) {
  if (name !== "smoke" && wanted.length > 0 && !wanted.includes(name)) continue;
  try {
    await part(session);
    await noRestarts();
  } catch (error) {
    // No other part works when the first one fails; the other parts all run, and each failure is reported.
    if (name === "smoke") throw error;
    failed.push(name);
    say(`${name} FAILED: ${error.stack}`);
    await settled();
  }
}
say(failed.length === 0 ? "all of it passed" : `failed: ${failed.join(", ")}`);
console.log(`Memory of a pod:\n${(await memory()).join("\n")}`);
figures({ "parts that failed": failed.length });
await record(time, loadBefore);
process.exit(failed.length === 0 ? 0 : 1);
