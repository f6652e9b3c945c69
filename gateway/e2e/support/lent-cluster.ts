import { existsSync } from "node:fs";
import { mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "@muster/testing";
import { admin, type Cluster, clusterAt, isAlive, startCluster, stopLauncher } from "./cluster.ts";
import { prepareOperator } from "./operator.ts";

/** Clusters for suites that kill and stop processes, by what they need; each has one suite at a time. */
const settings = {
  twoGateways: { MUSTER_REPLICAS: "gateway=2" },
  killed: { CHECKPOINT_INTERVAL_SECONDS: "2", ENROLLMENT_RESERVATION_SECONDS: "3" },
} as const satisfies Record<string, Record<string, string>>;

export type LentCluster = Cluster & { giveBack(): Promise<void> };

/** Milliseconds that a suite may wait for its turn and for the start. */
export const lendMs = 600_000;
const mendMs = 60_000;

/**
 * A cluster for exclusive use until it is returned: the suite may kill any process and waits until all run again. The
 * first suite starts it, the run's teardown stops it; one that does not recover is replaced.
 */
export async function lentCluster(name: keyof typeof settings): Promise<LentCluster> {
  const root = process.env.MUSTER_E2E_DIR;
  if (!root) throw new Error("MUSTER_E2E_DIR is not set: run tests through `npm test` or `npm run jest`");
  const holder = join(root, `lent-${name}.holder`);
  await until(`its turn at the cluster ${name}`, () => take(holder), lendMs);
  const giveBack = () => rm(holder, { force: true });
  try {
    const directory = join(root, `lent-${name}`);
    const cluster = (await running(directory)) ?? (await started(directory, settings[name]));
    return { ...cluster, giveBack };
  } catch (error) {
    await giveBack();
    throw error;
  }
}

/** True once this process holds the file; one that a process before left behind counts for nothing. */
async function take(holder: string): Promise<boolean> {
  try {
    const file = await open(holder, "wx");
    await file.writeFile(String(process.pid));
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const pid = Number(await readFile(holder, "utf8").catch(() => ""));
  // Empty: it is being written. Our own: a test file of before did not get as far as giving it back.
  if (pid !== 0 && (pid === process.pid || !isAlive(pid))) await rm(holder, { force: true });
  return false;
}

/** The cluster of the suites before; null when there is none, and when it does not serve any more, which ends it. */
async function running(directory: string): Promise<Cluster | null> {
  if (!existsSync(join(directory, "url"))) return null;
  const cluster = clusterAt(await readFile(join(directory, "url"), "utf8"), join(directory, "data"));
  const isHealthy = async () => {
    const { gateways } = await cluster.stack();
    const answers = gateways.map(async ({ url }) => {
      const reply = await fetch(`${url}/health`, { signal: AbortSignal.timeout(5_000) });
      return reply.ok && ((await reply.json()) as { status: string }).status === "ok";
    });
    return (await Promise.all(answers)).every(Boolean);
  };
  try {
    await until("the cluster to be healthy", () => isHealthy().catch(() => false), mendMs);
    return cluster;
  } catch {
    await stopLauncher(Number(await readFile(join(directory, "launcher.pid"), "utf8")));
    await rm(directory, { recursive: true, force: true });
    return null;
  }
}

async function started(directory: string, env: Record<string, string>): Promise<Cluster> {
  // What a start that failed left there.
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory);
  const { cluster } = await startCluster(directory, env);
  await prepareOperator(cluster, admin);
  await writeFile(join(directory, "url"), cluster.url);
  return cluster;
}
