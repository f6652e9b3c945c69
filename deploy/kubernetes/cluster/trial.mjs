// node trial.mjs DIR [PART…]: installs the chart on the cluster of up.sh and data.sh, and tries what its users rely on.
// Runs on the node (in.sh), so that Services are reached by name and address.
import { loadavg } from "node:os";
import { join } from "node:path";
import { figures, healthyStarts, noRestarts, record, root, say, settled, watchMemory } from "./client.mjs";
import { install } from "./install.mjs";
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
if (!wanted.includes("installed")) {
  await install(join(root, "charts/muster"));
  say(await healthyStarts());
}
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
