import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ConfigError, flag, loadConfig, whole } from "@muster/kit/config";
import { z } from "zod";
import { longestWaitMs } from "./keep-running.ts";
import { Problem } from "./problem.ts";
import { parseReplicas, type Replicas } from "./replicas.ts";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");

const settings = z.object({
  PORT: whole(3000, 1, 65535).describe("Port of the first gateway; gateway n listens on PORT + n − 1."),
  HOST: z.string().default("127.0.0.1").describe("Address the gateways listen on; 0.0.0.0 for every interface."),
  MUSTER_DATA_DIR: z.string().default(join(root, ".muster")).describe("Folder of data, keys, logs and stack.json."),
  MUSTER_REPLICAS: z.string().default("").describe("How many of each process, as `gateway=2,audit=3`; one by default."),
  MUSTER_DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .describe("A PostgreSQL of your own, as an administrator that may create roles; none is started then."),
  MUSTER_NATS_URL: z
    .string()
    .optional()
    .describe("A NATS with JetStream of your own, with our permission file; none is started then."),
  MUSTER_RESTART_WAIT_MAX_MS: whole(longestWaitMs, 200, 600_000).describe(
    "Milliseconds that the restart of a process that ended waits at most; the wait begins at 200 and doubles.",
  ),
  NATS_SERVER_BIN: z.string().optional().describe("The nats-server program to use."),
  MUSTER_POSTGRES_BIN: z.string().optional().describe("Folder with initdb, pg_ctl and postgres to use."),
  MUSTER_TLS: flag(false).describe(
    "TLS to PostgreSQL and NATS and between the processes, with certificates made under the data folder.",
  ),
  MUSTER_PGBOUNCER: flag(false).describe("A PgBouncer in transaction mode between the services and PostgreSQL."),
  MUSTER_NATS_SERVERS: z
    .enum(["1", "3"])
    .default("1")
    .transform(Number)
    .describe("NATS servers: one, or a JetStream cluster of three that keeps each stream three times."),
  PGBOUNCER_BIN: z.string().optional().describe("The pgbouncer program to use."),
  BOOTSTRAP_ADMIN_EMAIL: z.email().default("admin@muster.local").describe("E-mail of the first administrator."),
  BOOTSTRAP_ADMIN_PASSWORD: z
    .string()
    .min(12)
    .optional()
    .describe("Password of the first administrator; without it one is made at the first start and printed once."),
});

export type LocalConfig = {
  port: number;
  host: string;
  dataDir: string;
  replicas: Replicas;
  restartWaitMaxMs: number;
  databaseUrl: string | undefined;
  natsUrl: string | undefined;
  natsBin: string | undefined;
  postgresBin: string | undefined;
  tls: boolean;
  pooled: boolean;
  natsServers: number;
  pgbouncerBin: string | undefined;
  adminEmail: string;
  adminPassword: string | undefined;
};

/** The supervisor's settings; throws a `Problem` that names every bad one. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): LocalConfig {
  let raw: z.infer<typeof settings>;
  try {
    raw = loadConfig(settings, env);
  } catch (error) {
    if (error instanceof ConfigError) throw new Problem(error.message);
    throw error;
  }
  const replicas = parseReplicas(raw.MUSTER_REPLICAS);
  for (const [own, others] of [
    ["MUSTER_DATABASE_URL", ["MUSTER_PGBOUNCER"]],
    ["MUSTER_NATS_URL", ["MUSTER_NATS_SERVERS"]],
  ] as const) {
    const clash = raw[own] && others.find((name) => env[name]);
    if (clash)
      throw new Problem(`${own} and ${clash} are both set: one's own server is not this supervisor's to arrange.`);
  }
  return {
    port: raw.PORT,
    host: raw.HOST,
    dataDir: canonical(resolve(raw.MUSTER_DATA_DIR)),
    replicas,
    restartWaitMaxMs: raw.MUSTER_RESTART_WAIT_MAX_MS,
    databaseUrl: raw.MUSTER_DATABASE_URL,
    natsUrl: raw.MUSTER_NATS_URL,
    natsBin: raw.NATS_SERVER_BIN,
    postgresBin: raw.MUSTER_POSTGRES_BIN,
    tls: raw.MUSTER_TLS,
    pooled: raw.MUSTER_PGBOUNCER,
    natsServers: raw.MUSTER_NATS_SERVERS,
    pgbouncerBin: raw.PGBOUNCER_BIN,
    adminEmail: raw.BOOTSTRAP_ADMIN_EMAIL,
    adminPassword: raw.BOOTSTRAP_ADMIN_PASSWORD,
  };
}

/** One name for a folder however it is reached: processes of an earlier supervisor are known by it. */
function canonical(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  return dirname(path) === path ? path : join(canonical(dirname(path)), basename(path));
}
