import { join } from "node:path";
import type { Certificates } from "./certificates.ts";
import type { LocalConfig } from "./config.ts";
import { type DatabaseUrls, ownCopies, runPostgres, throughPooler } from "./database.ts";
import type { PrepareDatabase } from "./database-work.ts";
import type { SupervisedProcess } from "./keep-running.ts";
import type { Keys } from "./keys.ts";
import { runNats } from "./nats.ts";
import { natsServer } from "./nats-binary.ts";
import { speakerNames, workerNames } from "./replicas.ts";

/** `nats-2` and `nats-3` are there in a cluster of three. */
export const baseNames = ["pgbouncer", "nats", "nats-2", "nats-3", "postgres"] as const;
export type BaseName = (typeof baseNames)[number];

export type Base = {
  database: DatabaseUrls;
  natsUrl: string;
  natsReplicas: number;
  postgresAt: string;
  natsAt: string;
  certificates: Certificates | null;
};

type Options = {
  config: LocalConfig;
  keys: Keys;
  ports: Record<string, number>;
  /** Makes database and roles; this process itself when left out. */
  prepareDatabase?: PrepareDatabase;
  /** Called with each part as soon as it runs: it must be stopped also when the other part fails. */
  adopt: (name: BaseName, supervised: SupervisedProcess) => void;
  changed: () => void;
  say: (line: string) => void;
};

/** Ports that PostgreSQL, PgBouncer and NATS need, besides those of the programs. */
export function basePorts({ pooled, natsServers }: LocalConfig): string[] {
  const pooler = pooled ? ["pgbouncer"] : [];
  if (natsServers === 1) return ["postgres", "nats", ...pooler];
  return ["postgres", ...pooler, ...natsNames(natsServers).flatMap((name) => [name, `${name}.cluster`])];
}

const natsNames = (servers: number) => (["nats", "nats-2", "nats-3"] as const).slice(0, servers);

/** PostgreSQL with database and roles, and NATS: own ones, or those that the settings name. */
export async function startBase(options: Options): Promise<Base> {
  const { config } = options;
  const certificates = config.tls ? await certificatesIn(certificateFolder(config.dataDir)) : null;
  // Fetching the binary blocks the event loop for the whole download, so no answer of the database is awaited
  // meanwhile.
  const binFolder = join(config.dataDir, "bin");
  const natsBinary = config.natsUrl
    ? ""
    : await natsServer(config.natsBin, binFolder, (line) => options.say(`  ${line}`));
  const parts = [startDatabase(options, certificates), startBus(options, certificates, natsBinary)] as const;
  // Both have ended, one way or the other, before a failure is reported: nothing may start after the stop.
  await Promise.allSettled(parts);
  const [database, bus] = await Promise.all(parts);
  return { ...database, ...bus, certificates };
}

/** The processes with a certificate in a cluster with TLS. */
export const parties: readonly string[] = ["postgres", "nats", "pgbouncer", ...speakerNames, ...workerNames];

export const certificateFolder = (dataDir: string) => join(dataDir, "keys", "tls");

// Modules that only some clusters need are loaded on demand: the supervisor runs as long as the cluster.
const certificatesIn = async (folder: string) =>
  (await import("./certificates.ts")).clusterCertificates(folder, parties);
const inThisProcess: PrepareDatabase = async (adminUrl, keys) =>
  (await import("./prepare-database.ts")).prepareDatabase(adminUrl, keys);

const filesOf = (certificates: Certificates | null, name: string) =>
  certificates ? { ca: certificates.ca, ...certificates.of(name) } : null;

async function startDatabase(options: Options, certificates: Certificates | null) {
  const { config, keys, ports, adopt, changed, say, prepareDatabase = inThisProcess } = options;
  if (config.databaseUrl) {
    return {
      database: await prepareDatabase(config.databaseUrl, keys),
      postgresAt: new URL(config.databaseUrl).host,
    };
  }
  const port = ports.postgres as number;
  const { dataDir, postgresBin, restartWaitMaxMs: longestWaitMs } = config;
  const password = keys.superuserPassword;
  const tls = filesOf(certificates, "postgres");
  const postgres = await runPostgres({
    dataDir,
    port,
    ownBin: postgresBin,
    password,
    tls,
    changed,
    say,
    longestWaitMs,
  });
  adopt("postgres", postgres.supervised);
  changed();
  for (const note of postgres.notes) say(`  ${note}`);
  const database = await prepareDatabase(postgres.adminUrl, keys);
  const postgresAt = `${postgres.version}, port ${port}`;
  if (!config.pooled) return { database, postgresAt };

  const { runPooler } = await import("./pgbouncer.ts");
  const { pgbouncer } = await import("./pgbouncer-binary.ts");
  const poolerPort = ports.pgbouncer as number;
  const { folder, user } = postgres;
  const files = filesOf(certificates, "pgbouncer");
  const pooler = await runPooler({
    binary: pgbouncer(config.pgbouncerBin, user ? "/var/lib/muster" : join(dataDir, "bin"), (line) => say(`  ${line}`)),
    folder: join(folder, "pgbouncer"),
    user,
    logFile: join(dataDir, "logs", "pgbouncer.log"),
    port: poolerPort,
    postgresPort: port,
    passwords: keys.rolePasswords,
    tls: files && ownCopies(join(folder, "tls"), user, files),
    changed,
    say,
    longestWaitMs,
  });
  adopt("pgbouncer", pooler);
  changed();
  return {
    database: throughPooler(database, poolerPort),
    postgresAt: `${postgresAt}, behind PgBouncer on port ${poolerPort}`,
  };
}

async function startBus(
  { config, keys, ports, adopt, changed, say }: Options,
  certificates: Certificates | null,
  binary: string,
) {
  if (config.natsUrl) return { natsUrl: config.natsUrl, natsAt: config.natsUrl, natsReplicas: 1 };
  const { dataDir, restartWaitMaxMs: longestWaitMs } = config;
  const publicNkeys = Object.fromEntries(Object.entries(keys.nkeys).map(([name, key]) => [name, key.publicKey]));
  const names = natsNames(config.natsServers);
  const clusterPort = (name: string) => ports[`${name}.cluster`] as number;
  const tls = filesOf(certificates, "nats");
  const one = async (name: (typeof names)[number]) => {
    const routes = names.filter((other) => other !== name).map(clusterPort);
    const cluster = names.length === 1 ? null : { name, port: clusterPort(name), routes };
    const port = ports[name] as number;
    const options = { binary, dataDir, port, publicNkeys, tls, cluster, changed, say, longestWaitMs };
    adopt(name, await runNats(options));
    changed();
    return port;
  };
  const started = await Promise.allSettled(names.map(one));
  const open = started.map((each) => {
    if (each.status === "rejected") throw each.reason;
    return each.value;
  });
  return {
    natsUrl: open.map((port) => `${tls ? "tls" : "nats"}://127.0.0.1:${port}`).join(","),
    natsAt: `port ${open.join(", ")}`,
    natsReplicas: names.length,
  };
}
