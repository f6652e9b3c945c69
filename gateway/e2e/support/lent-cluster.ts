import { existsSync } from "node:fs";
import { mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generateNoteKey, noteKeys } from "@muster/kit";
import { freePort } from "@muster/local";
import { until } from "@muster/testing";
import { admin, type Cluster, clusterAt, isAlive, startCluster, stopSupervisor } from "./cluster.ts";
import { prepareOperator } from "./operator.ts";

/** Clusters for suites that kill and stop processes or need settings, by name; each has one suite at a time. */
const settings = {
  twoGateways: ({ port, releases, releaseKey }) => ({
    MUSTER_REPLICAS: "gateway=2",
    RELEASE_DIRECTORY: releases,
    RELEASE_MANIFEST_KEYS: noteKeys(releaseKey).signer.text,
    // Suites offer more updates of one version than they let end.
    ROLLOUT_START_BUDGET: "0",
    BINARY_SOURCE: "local",
    STREAM_S3_BUCKET: "siem",
    STREAM_S3_ENDPOINT: `http://127.0.0.1:${port}`,
    STREAM_S3_PATH_STYLE: "true",
    STREAM_S3_ACCESS_KEY_ID: "S3RVER",
    STREAM_S3_SECRET_ACCESS_KEY: "S3RVER",
  }),
  killed: () => ({ CHECKPOINT_INTERVAL_SECONDS: "2", ENROLLMENT_RESERVATION_SECONDS: "3" }),
  signIn: ({ port }) => ({
    MUSTER_REPLICAS: "gateway=2,identity=2",
    SMTP_URL: `smtp://127.0.0.1:${port}`,
    INVITE_URL_IN_REPLY: "true",
    MAIL_FROM: "Muster <mail@muster.example.com>",
    // Lets a test say which address it comes from.
    TRUST_PROXY_HEADERS: "true",
    LOGIN_FAILURES_PER_ADDRESS: String(signInLimits.failuresPerAddress),
    UNKNOWN_KEYS_PER_MINUTE: String(signInLimits.unknownKeys),
  }),
} as const satisfies Record<string, (made: Made) => Record<string, string>>;

/** Limits per address of the cluster `signIn`. */
export const signInLimits = { failuresPerAddress: 20, unknownKeys: 6 };

/** What settings name and suites use: a port for a server of the suite's own, a folder of releases and their key. */
type Made = { port: number; releases: string; releaseKey: string };

export type LentCluster = Cluster & Made & { giveBack(): Promise<void> };

/** Milliseconds that a suite may wait for its turn and for the start. */
export const lendMs = 600_000;
const mendMs = 60_000;

/**
 * A cluster for exclusive use until it is returned: the suite may kill any process and waits until all run again. The
 * first suite starts it, the run's teardown stops it; one that does not recover is replaced. One that is borrowed as
 * `last` ends when it is returned: the sequencer runs that suite after the others.
 */
export async function lentCluster(name: keyof typeof settings, { last = false } = {}): Promise<LentCluster> {
  const root = process.env.MUSTER_E2E_DIR;
  if (!root) throw new Error("MUSTER_E2E_DIR is not set: run tests through `npm test` or `npm run jest`");
  const holder = join(root, `lent-${name}.holder`);
  await until(`its turn at the cluster ${name}`, () => take(holder), lendMs);
  const directory = join(root, `lent-${name}`);
  const giveBack = async () => {
    if (last) await ended(directory);
    await rm(holder, { force: true });
  };
  try {
    const cluster = (await running(directory)) ?? (await started(directory, settings[name]));
    const made = JSON.parse(await readFile(join(directory, "given.json"), "utf8")) as Made;
    return { ...cluster, ...made, giveBack };
  } catch (error) {
    await rm(holder, { force: true });
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
  // Empty: it is being written. Our own pid: an earlier test file did not return the cluster.
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
    await ended(directory);
    return null;
  }
}

async function ended(directory: string): Promise<void> {
  await stopSupervisor(Number(await readFile(join(directory, "supervisor.pid"), "utf8")));
  await rm(directory, { recursive: true, force: true });
}

async function started(directory: string, needs: (made: Made) => Record<string, string>): Promise<Cluster> {
  // Files that a failed start left there.
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory);
  const releases = join(directory, "releases");
  const made: Made = { port: await freePort(), releases, releaseKey: generateNoteKey("releases.example.test") };
  await mkdir(releases);
  await writeFile(join(directory, "given.json"), JSON.stringify(made), { mode: 0o600 });
  const { cluster } = await startCluster(directory, needs(made));
  await prepareOperator(cluster, admin);
  await writeFile(join(directory, "url"), cluster.url);
  return cluster;
}
