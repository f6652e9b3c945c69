import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Certificates } from "./certificates.ts";
import { startChild } from "./child.ts";
import { root } from "./config.ts";
import type { DatabaseUrls } from "./database.ts";
import { keepRunning, type SupervisedProcess } from "./keep-running.ts";
import { type Keys, loadKeys } from "./keys.ts";
import {
  isWorker,
  type ProgramName,
  type Replicas,
  replicaNames,
  type ServiceName,
  serviceNames,
  type WorkerName,
  workerNames,
  workers,
} from "./replicas.ts";

/**
 * MB of each half of V8's young generation. What a start fills of it is kept: 16, a large machine's own choice, are 15
 * to 35 MB more of each idle process (docs/performance/memory.md); in a container of 256 MiB V8 chooses 1 by itself.
 */
export const semiSpaceMb = 4;
/**
 * What serves most requests keeps V8's own choice: 4 cost a sixth of a read and two thirds of the decisions that
 * agent-release makes a second (docs/performance/memory.md). Audit's batches live longer than V8 expects of young
 * objects: a tenth of what sealing costs (docs/decisions/0046).
 */
const ownSemiSpaceMb: Partial<Record<ProgramName, number>> = {
  gateway: 16,
  identity: 16,
  tenancy: 16,
  "webhook-dispatcher": 16,
  "agent-release": 16,
  audit: 64,
};

/** One process of the cluster: which program, its own name and its ports; workers have no `port` (0). */
export type Instance = { name: string; program: ProgramName; port: number; opsPort: number };

/** All instances; gateways listen on `port`, `port + 1` …, everything else on saved ports. */
export function instancesOf(replicas: Replicas, firstPort: number, ports: Record<string, number>): Instance[] {
  const programs: ProgramName[] = [...serviceNames, ...workerNames, "gateway"];
  return programs.flatMap((program) =>
    replicaNames(program, replicas[program]).map((name, index) => ({
      name,
      program,
      port: program === "gateway" ? firstPort + index : (ports[`${name}.rpc`] ?? 0),
      opsPort: ports[`${name}.ops`] ?? 0,
    })),
  );
}

/** The names under which `instancesOf` looks up saved ports. */
export function portNames(replicas: Replicas): string[] {
  const rpc = serviceNames.flatMap((name) => replicaNames(name, replicas[name]).map((each) => `${each}.rpc`));
  const ops = [...serviceNames, ...workerNames, "gateway" as const].flatMap((name) =>
    replicaNames(name, replicas[name]).map((each) => `${each}.ops`),
  );
  return [...rpc, ...ops];
}

export type Surroundings = {
  host: string;
  publicUrl: string;
  /** Folder of the development mailbox; null in production (NODE_ENV), which has none. */
  mailDir: string | null;
  natsUrl: string;
  /** Copies of each stream. */
  natsReplicas: number;
  /** Every process presents one and requires one of its peers; null: no TLS. */
  certificates: Certificates | null;
  database: DatabaseUrls;
  keys: Keys & { callerPublicDir: string };
  instances: readonly Instance[];
  /** Where audit rows are archived before they are deleted, and checkpoints kept outside of the database. */
  archiveDir: string;
  /** Where binaries of agent releases are stored, unless a bucket is. */
  releaseDir: string;
  /** The first administrator; the password only until it is made. */
  admin: { email: string; password: string | undefined };
};

/**
 * In development, what `muster webhooks listen` needs: the one port of this machine, unless the person names others.
 */
export function reachable({ NODE_ENV, EGRESS_TEST_EXCEPTIONS }: NodeJS.ProcessEnv): Record<string, string> {
  if (NODE_ENV === "production" || EGRESS_TEST_EXCEPTIONS !== undefined) return {};
  return { EGRESS_TEST_EXCEPTIONS: "http://muster-listen.test:8499=127.0.0.1" };
}

/** The settings one process gets in addition to the user's own environment. */
export function environmentOf(instance: Instance, around: Surroundings): Record<string, string> {
  const { program } = instance;
  const { keys } = around;
  const own = {
    OPS_HOST: "127.0.0.1",
    OPS_PORT: String(instance.opsPort),
    // The whole cluster stops within 15 s, one after the other.
    DRAIN_GRACE_MS: "3000",
    OTEL_SERVICE_NAME: `muster-${program}`,
    // glibc keeps an arena for each thread, and in it what that thread once took: Node's threads take little.
    MALLOC_ARENA_MAX: process.env.MALLOC_ARENA_MAX ?? "2",
    // Bytes above which what is free at the end of an arena goes back; glibc raises it to tens of megabytes by itself.
    MALLOC_TRIM_THRESHOLD_: process.env.MALLOC_TRIM_THRESHOLD_ ?? "262144",
  };
  if (isWorker(program)) return { ...own, ...workerEnvironment(program, around) };
  const common = {
    ...own,
    ...tlsEnvironment(program, around.certificates),
    NATS_URL: around.natsUrl,
    NATS_NKEY_SEED: keys.nkeys[program].seed,
    CALLER_PRIVATE_KEYS: keys.callers[program].privateKey,
    CALLER_PUBLIC_KEYS_DIR: keys.callerPublicDir,
  };
  if (program === "gateway") {
    return {
      ...common,
      PORT: String(instance.port),
      HOST: around.host,
      PUBLIC_URL: around.publicUrl,
      CHANNEL_RECONNECT_SPREAD_MS: "1000",
      ...serviceUrls(around),
    };
  }
  const service = {
    ...common,
    RPC_HOST: "127.0.0.1",
    RPC_PORT: String(instance.port),
    // Another process has migrated before: this one must not hold the owner's credentials.
    AUTO_MIGRATE: "false",
    DATABASE_URL_APP: around.database.app[program],
    ...(around.natsReplicas > 1 ? { NATS_STREAM_REPLICAS: String(around.natsReplicas) } : {}),
    ...serviceUrls(around),
  };
  if (program === "webhook-dispatcher") {
    return { ...service, SECRET_ENCRYPTION_KEY: keys.secretEncryptionKeys[program], ...reachable(process.env) };
  }
  if (program === "audit") {
    return {
      ...service,
      CHECKPOINT_PRIVATE_KEY: keys.checkpointPrivateKey,
      SECRET_ENCRYPTION_KEY: keys.secretEncryptionKeys.audit,
      // Unless the person has a bucket for them.
      ...(process.env.STREAM_S3_BUCKET ? {} : { STREAM_DIRECTORY: around.archiveDir }),
    };
  }
  if (program === "agent-release") {
    return { ...service, ...(process.env.RELEASE_S3_BUCKET ? {} : { RELEASE_STORE_DIR: around.releaseDir }) };
  }
  if (program !== "identity") return service;
  const { password } = around.admin;
  return {
    ...service,
    JWT_PRIVATE_KEYS: keys.jwtPrivateKeys,
    SECRET_ENCRYPTION_KEY: keys.secretEncryptionKeys.identity,
    ENROLLMENT_KEY_PEPPER: keys.enrollmentKeyPepper,
    BOOTSTRAP_ADMIN_EMAIL: around.admin.email,
    PUBLIC_URL: around.publicUrl,
    ...(around.mailDir === null ? {} : { MAIL_DIR: around.mailDir }),
    ...(password ? { BOOTSTRAP_ADMIN_PASSWORD: password } : {}),
  };
}

/** A worker's own database role and the settings of its task; no credentials to call other services. */
function workerEnvironment(name: WorkerName, { database, keys, archiveDir }: Surroundings): Record<string, string> {
  return {
    DATABASE_URL_PRUNER: database.worker[name],
    CHECKPOINT_PRIVATE_KEY: keys.checkpointPrivateKey,
    ARCHIVE_DIRECTORY: archiveDir,
  };
}

function tlsEnvironment(program: ProgramName, certificates: Certificates | null): Record<string, string> {
  if (!certificates) return {};
  const { ca } = certificates;
  const { cert, key } = certificates.of(program);
  return {
    ...{ RPC_TLS_CA_PATH: ca, RPC_TLS_CERT_PATH: cert, RPC_TLS_KEY_PATH: key },
    ...{ NATS_TLS_CA_PATH: ca, NATS_TLS_CERT_PATH: cert, NATS_TLS_KEY_PATH: key },
  };
}

/** `DEVICE_LOGS_URL` and its like: the base URLs of all replicas, comma-separated. */
function serviceUrls({ instances, certificates }: Surroundings): Record<string, string> {
  const urlsOf = (name: ServiceName) =>
    instances.filter(({ program }) => program === name).map(({ port }) => rpcUrl(port, certificates !== null));
  return Object.fromEntries(
    serviceNames.map((name) => [`${name.toUpperCase().replaceAll("-", "_")}_URL`, urlsOf(name).join(",")]),
  );
}

export const rpcUrl = (port: number, tls: boolean) => `${tls ? "https" : "http"}://127.0.0.1:${port}`;

/** What would mislead our processes or is not theirs to know. */
const withheld = /^(npm_|NODE_CHANNEL_|MUSTER_|PG[A-Z]|BOOTSTRAP_|INIT_CWD$)/;

/** The user's environment, overridden by ours; a `NAME_FILE` would contradict a `NAME` that we set. */
export function mergeEnvironment(theirs: NodeJS.ProcessEnv, ours: Record<string, string>): NodeJS.ProcessEnv {
  const kept = Object.entries(theirs).filter(
    ([name]) => !withheld.test(name) && !(name.endsWith("_FILE") && name.slice(0, -"_FILE".length) in ours),
  );
  return { ...Object.fromEntries(kept), ...ours };
}

export type Program = { supervised: SupervisedProcess; ready: Promise<void>; isReady(): boolean };

/** The bundle of a program, or what is compiled of it where it has none (a version before there were bundles). */
export function scriptOf(folder: string, name: string): string {
  const bundle = join(folder, "dist", "bundle", name);
  return existsSync(bundle) ? bundle : join(folder, "dist", name);
}

/** Starts one instance and keeps it running; `ready` settles when it first reports that it serves. */
export function runProgram(options: {
  instance: Instance;
  around: Surroundings;
  dataDir: string;
  changed: () => void;
  say: (line: string) => void;
  longestWaitMs: number;
  /** Whose build runs; this one's when left out. */
  checkout?: string;
}): Program {
  const { instance, around, dataDir, changed, say, longestWaitMs, checkout = root } = options;
  const { program } = instance;
  const worker = isWorker(program) ? workers[program] : null;
  const folder = join(checkout, program === "gateway" ? "gateway" : `services/${worker?.service ?? program}`);
  const traced = Object.keys(process.env).some((name) => /^OTEL_EXPORTER_OTLP_(TRACES_)?ENDPOINT$/.test(name));
  const script = scriptOf(folder, worker?.script ?? "main.js");
  let serving = false;
  let settle: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const onMessage = (message: unknown) => {
    const { type } = message as { type?: string };
    if (type === "ready") {
      serving = true;
      settle();
    }
  };
  const start = async () => {
    serving = false;
    if (!existsSync(script)) throw new Error(`${script} is missing`);
    // The data folder on the command line distinguishes this cluster's processes from another's, for users and for the
    // supervisor.
    const args = [
      ...(traced ? ["--import", "@muster/kit/telemetry"] : []),
      `--max-semi-space-size=${ownSemiSpaceMb[program] ?? semiSpaceMb}`,
      "--enable-source-maps",
      script,
    ];
    return startChild({
      program: process.execPath,
      args: [...args, `--stack=${dataDir}`],
      cwd: folder,
      // Read again: keys are rotated by an edit of the file and a restart of one process after the other.
      env: mergeEnvironment(process.env, environmentOf(instance, { ...around, keys: loadKeys(dataDir) })),
      logFile: join(dataDir, "logs", `${instance.name}.log`),
      onMessage,
    });
  };
  const supervised = keepRunning({ name: instance.name, start, changed, say, longestWaitMs });
  return { supervised, ready, isReady: () => serving };
}
