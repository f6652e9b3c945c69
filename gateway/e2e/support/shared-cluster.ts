import { open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "@muster/testing";
import { admin, type Cluster, clusterAt, startCluster, startMs } from "./cluster.ts";
import { prepareOperator } from "./operator.ts";

/** The cluster that all other e2e files share: the first one starts it, the run's teardown stops it. */
export async function sharedCluster(): Promise<Cluster> {
  const directory = process.env.MUSTER_E2E_DIR;
  if (!directory) throw new Error("MUSTER_E2E_DIR is not set: run tests through `npm test` or `npm run jest`");
  try {
    await (await open(join(directory, "starting"), "wx")).close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const address = await until(
      "the shared cluster",
      () => readFile(join(directory, "url"), "utf8").catch(() => null),
      startMs,
    );
    return clusterAt(address, join(directory, "data"));
  }
  const { cluster } = await startCluster(directory, {});
  // Before another suite can find the cluster: the administrator has a second factor from then on.
  await prepareOperator(cluster, admin);
  await writeFile(join(directory, "url"), cluster.url);
  return cluster;
}
