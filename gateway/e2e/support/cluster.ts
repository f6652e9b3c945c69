import { spawn } from "node:child_process";
import { chmod, mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "@muster/local";
import { testCaFile, until } from "@muster/testing";
import { prepareDataDir } from "./data-template.ts";
import { freeUdpPort } from "./udp-port.ts";

/** `stack.json` of the local stack, as far as tests need it. */
export type StackFile = {
  gateways: { url: string; pid: number; ops: string }[];
  databaseUrl: string;
  natsUrl: string;
  services: Record<string, { pid: number; rpc: string; ops: string }>;
  postgres: { pid: number };
  nats: { pid: number };
  supervisor: { pid: number };
  /** Files of what talks to services in a cluster with TLS. */
  tls: { ca: string; cert: string; key: string } | null;
};

export type Cluster = {
  /** `http://127.0.0.1:port`, without the API's prefix. */
  url: string;
  dataDir: string;
  stack(): Promise<StackFile>;
};

export const admin = { email: "admin@muster.local", password: "correct horse battery staple" };

const supervisor = fileURLToPath(new URL("../../../deploy/local/dist/main.js", import.meta.url));
/** Milliseconds that a start may take. */
export const startMs = 120_000;
/** The host name of this machine, and the number of its ports that webhooks may reach. */
export const receiverHost = "hooks.example.test";
const receivers = 24;

/** A separate cluster for a test that breaks things; stopped and removed by `stop`. */
export async function ownCluster(env: Record<string, string> = {}): Promise<Cluster & { stop(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), "muster-e2e-"));
  const { cluster, pid } = await startCluster(directory, env);
  return {
    ...cluster,
    async stop() {
      await stopSupervisor(pid);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Starts a supervisor that keeps everything in that folder; resolves when each service is healthy. */
export async function startCluster(
  directory: string,
  env: Record<string, string>,
): Promise<{ cluster: Cluster; pid: number }> {
  // As root PostgreSQL runs as another user, and mkdtemp makes folders that no other user may enter.
  await chmod(directory, 0o711);
  const gateways = Number(/gateway=(\d+)/.exec(env.MUSTER_REPLICAS ?? "")?.[1] ?? 1);
  const port = await freePort(new Set(), gateways);
  const dataDir = join(directory, "data");
  await prepareDataDir(dataDir);
  const receiverPorts = await Promise.all(Array.from({ length: receivers }, () => freePort()));
  await writeFile(join(directory, "receivers.json"), JSON.stringify(receiverPorts));
  const dnsPort = await freeUdpPort();
  await writeFile(join(directory, "dns.json"), JSON.stringify(dnsPort));
  const output = await open(join(directory, "supervisor.log"), "a");
  const child = spawn(process.execPath, [supervisor], {
    detached: true,
    stdio: ["ignore", output.fd, output.fd],
    env: {
      ...process.env,
      NODE_ENV: "development",
      NODE_OPTIONS: "",
      // Each line that any level would write is searched for secrets after the run.
      LOG_LEVEL: "trace",
      PORT: String(port),
      MUSTER_DATA_DIR: dataDir,
      // Suites kill the same process several times within a minute.
      MUSTER_RESTART_WAIT_MAX_MS: "200",
      BOOTSTRAP_ADMIN_PASSWORD: admin.password,
      PASSWORD_SCRYPT_LOG_N: "12",
      // All tests come from one address, and share the machine with the cluster.
      LOGIN_FAILURES_PER_ADDRESS: "100000",
      FORGOT_PASSWORD_PER_ADDRESS: "100000",
      SSO_REQUESTS_PER_MINUTE: "100000",
      // A name server that tests start when they need one (dns.ts).
      SSO_DNS_SERVERS: `127.0.0.1:${dnsPort}`,
      UNKNOWN_KEYS_PER_MINUTE: "100000",
      UNKNOWN_TOKENS_PER_MINUTE: "100000",
      EVENT_LOOP_LAG_MAX_MS: "10000",
      IN_FLIGHT_MAX_EXPORT: "1000",
      DOWNLOADS_PER_NETWORK: "1000",
      NATS_SERVER_BIN: process.env.MUSTER_TEST_NATS_BIN,
      // What webhooks reach on this machine: see receiver.ts.
      STREAMS_PER_ORGANIZATION: "1000",
      AUDIT_EXPORTS_PER_CHAIN: "1000",
      DIRECTORIES_PER_TENANT: "1000",
      STAGED_ROLLOUTS_MAX: "1000",
      EGRESS_TEST_EXCEPTIONS: receiverPorts.map((each) => `${receiverHost}:${each}=127.0.0.1`).join(","),
      NODE_EXTRA_CA_CERTS: testCaFile,
      ...env,
    },
  });
  let ended = false;
  child.once("exit", () => {
    ended = true;
  });
  child.unref();
  await output.close();
  const pid = child.pid as number;
  await writeFile(join(directory, "supervisor.pid"), String(pid));
  const url = `http://127.0.0.1:${port}`;
  try {
    await until(
      "the cluster to be healthy",
      async () => {
        if (ended) throw new Error("the supervisor ended early");
        const reply = await fetch(`${url}/health`).catch(() => null);
        if (!reply?.ok) return false;
        const body = (await reply.json()) as { status: string };
        return body.status === "ok";
      },
      startMs,
    );
  } catch (cause) {
    const log = await readFile(join(directory, "supervisor.log"), "utf8").catch(() => "");
    // No other code can stop it: it would keep running during later tests.
    if (!ended) process.kill(pid, "SIGTERM");
    throw new Error(`the cluster did not start:\n${log.slice(-4_000)}`, { cause });
  }
  return { cluster: clusterAt(url, dataDir), pid };
}

/** The cluster that runs at this address. */
export function clusterAt(url: string, dataDir: string): Cluster {
  return {
    url,
    dataDir,
    stack: async () => JSON.parse(await readFile(join(dataDir, "stack.json"), "utf8")) as StackFile,
  };
}

/** Ends a cluster in order. */
export async function stopSupervisor(pid: number): Promise<void> {
  if (isAlive(pid)) process.kill(pid, "SIGTERM");
  await until("the supervisor to stop", () => !isAlive(pid), 30_000);
}

/** Whether a process of that id runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
