import { mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join, relative } from "node:path";
import { sleep } from "@muster/kit/light";
import { startChild } from "./child.ts";
import { root } from "./config.ts";
import { startGuard } from "./guard.ts";
import { guarded, keepRunning, type Run, type SupervisedProcess, started } from "./keep-running.ts";
import { moveStreams } from "./move-streams.ts";
import { Problem } from "./problem.ts";
import { speakerNames } from "./replicas.ts";

const readyMs = 15_000;

/** How one server is found by the others of its cluster. */
export type NatsCluster = { name: string; port: number; routes: readonly number[] };

type Tls = { ca: string; cert: string; key: string };

/**
 * The configuration of production, and with TLS a file that includes it: NATS 2.9 reads certificates again on SIGHUP
 * only when they are named in a file, and refuses to when they are arguments.
 */
function configuration(folder: string, tls: Tls | null): string {
  const production = join(root, "deploy", "nats", "nats-server.conf");
  if (!tls) return production;
  const file = join(folder, "tls.conf");
  const block = `cert_file: "${tls.cert}"\n  key_file: "${tls.key}"\n  ca_file: "${tls.ca}"\n  verify: true`;
  // Paths of includes begin at the file that includes.
  writeFileSync(file, `include "${relative(realpathSync(folder), production)}"\ntls {\n  ${block}\n}\n`);
  return file;
}

/** Arguments that identify a cluster's server. */
const clusterArguments = (cluster: NatsCluster | null) =>
  cluster
    ? [
        "--cluster_name=muster",
        `--cluster=nats://127.0.0.1:${cluster.port}`,
        `--routes=${cluster.routes.map((port) => `nats://127.0.0.1:${port}`).join(",")}`,
      ]
    : [];

/** Starts nats-server with the configuration and permissions of production and keeps it running on the same port. */
export async function runNats(options: {
  binary: string;
  dataDir: string;
  port: number;
  publicNkeys: Record<string, string>;
  tls: Tls | null;
  /** Of a cluster, and under which name; a server alone is called `nats`. */
  cluster: NatsCluster | null;
  changed: () => void;
  say: (line: string) => void;
  longestWaitMs?: number;
}): Promise<SupervisedProcess> {
  const { dataDir, port, cluster } = options;
  const name = cluster?.name ?? "nats";
  const folder = join(dataDir, name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // A cluster's servers agree on its streams, which are created again.
  const moved = cluster ? [] : moveStreams(join(folder, "store"));
  if (moved.length > 0) options.say(`  NATS: streams moved to their accounts: ${moved.join(", ")}`);
  const logFile = join(dataDir, "logs", `${name}.log`);
  const pidFile = join(folder, "nats.pid");
  rmSync(pidFile, { force: true });
  const start = async (): Promise<Run> => {
    const run = await startChild({
      program: options.binary,
      args: ["-c", configuration(folder, options.tls), "-P", pidFile, ...clusterArguments(cluster)],
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        ...natsEnvironment(folder, port, options.publicNkeys),
        ...(cluster ? { NATS_SERVER_NAME: `muster-${name}` } : {}),
      },
      logFile,
    });
    const state = await Promise.race([run.ended, answers(port)]);
    if (state === null) return run;
    await run.stop(0);
    throw new Problem(`nats-server did not start on port ${port}: ${state} (see ${logFile})`);
  };
  const guard = startGuard({ pidFile, signal: "TERM", marker: pidFile });
  const { changed, say, longestWaitMs } = options;
  const supervised = keepRunning({ name: cluster ? name : "NATS", start, changed, say, longestWaitMs });
  return started(guarded(supervised, guard));
}

/** The variables of deploy/nats/nats-server.conf; quoted inside, as its syntax wants for paths. */
export function natsEnvironment(folder: string, port: number, publicNkeys: Record<string, string>) {
  return {
    NATS_SERVER_NAME: "muster-local",
    NATS_LISTEN_HOST: "127.0.0.1",
    NATS_LISTEN_PORT: String(port),
    NATS_STORE_DIR: `"${join(folder, "store")}"`,
    ...Object.fromEntries(
      speakerNames.map((name) => [`NKEY_${name.toUpperCase().replaceAll("-", "_")}`, publicNkeys[name] ?? ""]),
    ),
  };
}

/** Null once the server greets (its INFO line), else what went wrong. */
async function answers(port: number): Promise<string | null> {
  const deadline = performance.now() + readyMs;
  while (performance.now() < deadline) {
    if (await greets(port)) return null;
    await sleep(30);
  }
  return `no answer within ${readyMs / 1000} s`;
}

function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const finish = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1_000, () => finish(false));
    socket.once("error", () => finish(false));
    socket.once("data", (data) => finish(data.toString("latin1").startsWith("INFO ")));
  });
}
