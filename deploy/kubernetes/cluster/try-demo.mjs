import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bash, dir, helm, kubectl, must, root, say } from "./client.mjs";
import { readme } from "./try-smoke.mjs";

/** Volumes of the node for the two claims of the demo. */
async function volumes() {
  const items = ["1", "2"].map((name) => {
    const path = join(dir, "volumes", name);
    mkdirSync(path, { recursive: true });
    // The kubelet gives a group access to volumes of providers, not to folders of the node.
    chmodSync(path, 0o777);
    const spec = { capacity: { storage: "5Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path } };
    return { apiVersion: "v1", kind: "PersistentVolume", metadata: { name: `demo-${name}` }, spec };
  });
  writeFileSync(join(dir, "volumes.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  await kubectl("apply", "-f", join(dir, "volumes.json"));
}

/** The commands of the README's first try, with the images and keys of this trial. */
function commands() {
  const text = readFileSync(join(root, "charts/muster/README.md"), "utf8");
  const [, block] = /## First try[\s\S]*?```sh\n([\s\S]*?)```/.exec(text);
  const images =
    "--set image.tag=trial --set demo.postgresImage=localhost/postgres:trial --set demo.natsImage=localhost/nats:trial";
  const chart = join(root, "charts/muster");
  return block
    .replace(/^tar .*$/m, "REGISTRY=localhost/muster")
    .replaceAll("./keys", join(dir, "keys"))
    .replaceAll("muster-$VERSION.tgz", chart)
    .replaceAll("muster/values-demo.yaml", join(chart, "values-demo.yaml"))
    .replace("--set image.registry", `${images} --set image.registry`);
}
const type = (script) => bash(`kubectl() { kubebox kubectl "$@"; }\n${script}`);

/** The chart's first try, as its README has it: from an empty namespace to the first partner, whose data stay. */
export async function demo() {
  // KEDA's Prometheus finds pods by a Service there.
  const reset = () => kubectl("delete", "namespace", "muster", "--ignore-not-found", "--timeout=120s");
  await volumes();
  await reset();
  try {
    await tryIt(commands());
  } finally {
    await reset();
    // Of more than one namespace: without the one that `kubectl` names.
    if (process.env.KEDA === "1") await type(`kubectl apply -f ${join(root, "deploy/kubernetes/cluster/keda.yaml")}`);
    await kubectl("delete", "pv", "demo-1", "demo-2", "--timeout=60s");
  }
}

async function tryIt(script) {
  await type(script);
  say("the first try: installed with its own PostgreSQL and NATS, helm test green");
  await readme();
  await helm("uninstall", "muster", "--wait");
  const claims = JSON.parse(await kubectl("get", "pvc", "-o", "json")).items;
  must(claims.length === 2, `both volumes stay after an uninstall: ${claims.length}`);
  await type(script.replace("kubectl create namespace muster", ""));
  const again = await readme().catch((error) => error);
  must(/slug_taken/.test(String(again?.message ?? "")), `the first partner is there after a new install: ${again}`);
  say("uninstalled and installed again: the first partner is still there");
}
