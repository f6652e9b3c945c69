import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "@muster/testing";
import pg from "pg";
import { admin, type Cluster, clusterAt, startCluster } from "./cluster.ts";
import { prepareOperator } from "./operator.ts";

/** Milliseconds that a suite may wait for its turn. */
export const turnMs = 900_000;

const settings = {
  MUSTER_REPLICAS: "gateway=2",
  CHECKPOINT_INTERVAL_SECONDS: "2",
  ENROLLMENT_RESERVATION_SECONDS: "3",
};

export type ShakenCluster = Cluster & {
  /** Lets the next suite have it. */
  leave(): Promise<void>;
};

/**
 * The cluster of two gateways whose processes suites stop and kill, one suite at a time; whoever comes first starts it, the run's teardown
 * stops it. Its databases hold what other suites made. A suite leaves every process running.
 */
export async function shakenCluster(): Promise<ShakenCluster> {
  const folder = process.env.MUSTER_E2E_DIR;
  const url = process.env.MUSTER_TEST_PG_URL;
  if (!folder || !url) throw new Error("MUSTER_E2E_DIR is not set: run tests through `npm test` or `npm run jest`");
  // Held by a connection, so that a worker that dies leaves the cluster to the next.
  const turn = new pg.Client({ connectionString: url });
  await turn.connect();
  await turn.query("SELECT pg_advisory_lock(hashtextextended('muster shaken cluster', 0))");
  try {
    const cluster = await runningIn(join(folder, "shaken"));
    await healthy(cluster);
    return { ...cluster, leave: () => turn.end() };
  } catch (error) {
    await turn.end();
    throw error;
  }
}

async function runningIn(directory: string): Promise<Cluster> {
  const address = await readFile(join(directory, "url"), "utf8").catch(() => null);
  if (address !== null) return clusterAt(address, join(directory, "data"));
  await mkdir(directory, { recursive: true });
  const { cluster } = await startCluster(directory, settings);
  await prepareOperator(cluster, admin);
  await writeFile(join(directory, "url"), cluster.url);
  return cluster;
}

/** Resolves when both gateways serve, and every service behind them. */
async function healthy(cluster: Cluster): Promise<void> {
  const isHealthy = async (url: string) => {
    const reply = await fetch(`${url}/health`).catch(() => null);
    return reply?.ok === true && ((await reply.json()) as { status: string }).status === "ok";
  };
  await until(
    "the cluster of two gateways to be healthy",
    async () => {
      const { gateways } = await cluster.stack();
      return (await Promise.all(gateways.map(({ url }) => isHealthy(url)))).every((each) => each);
    },
    60_000,
  );
}
