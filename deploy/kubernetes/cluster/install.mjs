import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { dir, helm, kubectl, root, say, workloads } from "./client.mjs";

/** Values of every installation here. */
export const values = join(root, "charts/muster/ci/cluster-values.yaml");

/**
 * Installs a chart into a namespace under Pod Security `restricted`: refused without Secrets, then every workload has a
 * pod that is ready.
 *
 * @param {string} chart a folder or an archive
 * @param {string[]} options of helm, besides `values`
 */
export async function install(chart, options = []) {
  const namespace = {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "muster", labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
  };
  writeFileSync(join(dir, "namespace.json"), JSON.stringify(namespace));
  await kubectl("apply", "-f", join(dir, "namespace.json"));
  const args = ["install", "muster", chart, "-f", values, ...options];
  const refused = await helm(...args).catch((error) => error.stderr);
  if (!/Secret muster-[a-z-]+ does not exist in namespace muster: make it with/.test(refused)) {
    throw new Error(`helm install without Secrets answered: ${refused}`);
  }
  say("helm install without Secrets is refused, with the cure");
  for (const file of ["keys/secrets.json", "tls/secrets.yaml"]) await kubectl("apply", "-f", join(dir, file));
  await helm(...args, "--wait", "--timeout", "5m");
  const pods = JSON.parse(await kubectl("get", "pods", "-o", "json")).items;
  const running = new Set(pods.map(({ metadata }) => metadata.labels["app.kubernetes.io/component"]));
  for (const name of workloads) if (!running.has(name)) throw new Error(`no pod of ${name}`);
  say(`helm install --wait: ${pods.length} pods ready under Pod Security "restricted"`);
}
