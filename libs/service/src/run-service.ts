import { fileURLToPath } from "node:url";
import { type Bus, openBus, type StreamName, streamOwner, type Transport } from "@muster/bus";
import {
  checkSchema,
  type Database,
  migrate,
  openDatabase,
  type Privilege,
  replicationOf,
  startRelay,
} from "@muster/db";
import {
  baseUrls,
  busTls,
  type Process,
  redactConfig,
  runProcess,
  serviceSettings,
  settledWithin,
  sharedValues,
  startConfig,
} from "@muster/kit";
import { StatusService } from "@muster/proto/muster/common/v1/status_pb";
import { createVerifier, type Registration, register, servePort, useRpcTls } from "@muster/rpc";
import { z } from "zod";
import { checkOnly } from "./check-only.ts";
import { startCleanup } from "./idempotent.ts";
import { type LearnTenants, learningFrom } from "./learn-tenants.ts";
import { migrateOnly } from "./migrate-only.ts";
import { outboxWakeUp } from "./outbox-wake-up.ts";
import { reencryptOnly } from "./reencrypt-only.ts";
import type { SealedColumn } from "./sealed-column.ts";
import { type OwnFigures, statusService } from "./status.ts";
import { tenancySnapshot } from "./tenancy-snapshot.ts";
import {
  followTenancy,
  type OnDeviceChanges,
  type OnPurged,
  type OnTenantChange,
  startReconciling,
  type TenantCopyDeps,
  tenantMigrations,
} from "./tenant-copy.ts";

export type ServiceContext<C> = {
  config: C;
  process: Process;
  db: Database;
  /** Asks tenancy for what the copy of the tenants lacks. Not for a service without such a copy. */
  learnTenants: LearnTenants;
  /** Runs once NATS answers; the service is ready and serves before that. What it returns is stopped at the end. */
  onBus(start: BusUser): void;
};

export type ServiceDefinition<S extends z.ZodRawShape> = {
  name: string;
  version: string;
  /** Settings beyond those every service has. */
  settings: S;
  /** URL of the service's `migrations/` folder. */
  migrations: URL;
  /** Roles and rights a table needs that differ from the default (see checkSchema). */
  grants?: Record<string, readonly Privilege[]>;
  /** Rights that the service's role must not have on a table (see checkSchema). */
  withheld?: Record<string, readonly Privilege[]>;
  /** Keeps table `tenant`, a copy of tenancy's partners, organizations and sites. */
  tenantCopy?: { onChange?: OnTenantChange; onDevices?: OnDeviceChanges; onPurged?: OnPurged };
  /** The columns that `main.js reencrypt` seals again under the first encryption key. */
  sealed?: readonly SealedColumn[];
  /**
   * The core NATS subject on which a published message is repeated for current subscribers; null for none. For readers
   * that may not have a consumer on the stream.
   */
  alsoPublished?: (subject: string) => string | null;
  /** Largest request of its RPCs in bytes, where 4 MiB are too few. */
  maxRequestBytes?: number;
  /** Figures that its status shows besides those of every service. */
  figures?: (db: Database) => Promise<OwnFigures>;
  start(context: ServiceContext<z.infer<z.ZodObject<S & typeof serviceSettings>>>): Promise<Registration[]>;
};

/** While draining the port goes on serving for this long, so that its clients get a GOAWAY and move elsewhere. */
const farewellMs = 500;

const tenantCopySettings = {
  TENANCY_URL: baseUrls("tenancy", "queried for its snapshot"),
};
/** Settings of a service once they are read; TENANCY_URL only where it keeps a copy of the tenants. */
type CopySettings = z.infer<z.ZodObject<typeof serviceSettings>> &
  Partial<z.infer<z.ZodObject<typeof tenantCopySettings>>>;

/**
 * The one way a service runs: settings, migrations, checks of role and schema, database, bus and relay, RPC port.
 * PostgreSQL must answer before the port opens; NATS need not: writes wait in the outbox. With the argument `migrate`,
 * `reencrypt` or `check` it does only that.
 */
export async function runService<S extends z.ZodRawShape>(definition: ServiceDefinition<S>): Promise<void> {
  const { name, tenantCopy } = definition;
  const dirs = [...(tenantCopy ? [tenantMigrations] : []), { label: name, path: fileURLToPath(definition.migrations) }];
  if (process.argv[2] === "migrate") return migrateOnly(name, dirs);
  if (process.argv[2] === "reencrypt") return reencryptOnly(name, definition.sealed ?? []);
  const { grants = {}, withheld = {} } = definition;
  const schema = { dirs, grants, withheld };
  if (process.argv[2] === "check") return checkOnly(name, schema, process.argv.slice(3));
  type Config = z.infer<z.ZodObject<S & typeof serviceSettings>>;
  type Settings = Config & CopySettings;
  const own = { ...(tenantCopy ? tenantCopySettings : {}), ...definition.settings };
  const shape = { ...serviceSettings, ...own };
  const config = startConfig(name, z.object(shape)) as Settings | null;
  if (!config) return;
  await runProcess(
    {
      name,
      version: definition.version,
      level: config.LOG_LEVEL,
      opsHost: config.OPS_HOST,
      opsPort: config.OPS_PORT,
      drainDelayMs: config.DRAIN_DELAY_MS,
      drainGraceMs: config.DRAIN_GRACE_MS,
    },
    async (proc) => {
      proc.log.info({ version: definition.version, config: redactConfig(config) }, "starting");
      useRpcTls(config, proc.log);
      const db = await checkedDatabase(name, schema, config, proc);
      const busUsers: BusUser[] = [];
      const copy = tenantCopy ? tenantCopyOf({ db, service: name, log: proc.log, ...tenantCopy }, config, proc) : null;
      const registrations = await definition.start({
        config,
        process: proc,
        db,
        learnTenants: copy?.learnTenants ?? withoutCopy,
        onBus: (start) => busUsers.push(start),
      });
      if (copy) busUsers.push(copy.follow());
      connectBus({ name, config, proc, db, busUsers, alsoPublished: definition.alsoPublished });
      const rpc = await openPort({ definition, registrations, shared: sharedValues(shape, config), config, proc, db });
      proc.ready({ rpc });
    },
  );
}

type BusUser = (bus: Bus) => Promise<{ stop(): Promise<void> | void } | undefined>;
type AnyDefinition = Pick<ServiceDefinition<z.ZodRawShape>, "name" | "version" | "figures" | "maxRequestBytes">;

/** The database once its migrations and its role are checked; closed when the process stops. */
async function checkedDatabase(
  name: string,
  schema: Pick<Parameters<typeof checkSchema>[0], "dirs" | "grants" | "withheld">,
  config: CopySettings,
  proc: Process,
): Promise<Database> {
  const { log } = proc;
  if (config.AUTO_MIGRATE && config.DATABASE_URL) {
    await migrate({ url: config.DATABASE_URL, service: name, dirs: schema.dirs, log });
  }
  await checkSchema({ ...schema, url: config.DATABASE_URL_APP, service: name, log });
  const db = openDatabase({
    url: config.DATABASE_URL_APP,
    max: config.DATABASE_POOL_MAX,
    name,
    log,
    prepare: config.DATABASE_PREPARED_STATEMENTS,
  });
  proc.onStop("database", () => db.close());
  await db.warmUp();
  proc.readiness.addCheck("postgresql", () => db.check());
  proc.readiness.addCheck("replication", async () => (await replicationOf(db)).found);
  if (config.NODE_ENV === "production") {
    const { isSynchronous, found } = await replicationOf(db);
    if (!isSynchronous) log.warn({ found }, "a failover of PostgreSQL may lose acknowledged changes");
  }
  const cleanup = startCleanup({ db, log });
  proc.onStop("clean-up of stored replies and finished jobs", () => cleanup.stop());
  return db;
}

/** Opens the RPC port and resolves with its number. */
async function openPort(options: {
  definition: AnyDefinition;
  registrations: Registration[];
  shared: Readonly<Record<string, string>>;
  config: CopySettings;
  proc: Process;
  db: Database;
}): Promise<number> {
  const { definition, registrations, shared, config, proc, db } = options;
  const { name, version, figures, maxRequestBytes } = definition;
  const { log, readiness } = proc;
  const ownFigures = figures ? () => figures(db) : undefined;
  const status = statusService({ db, version, readiness, ownFigures });
  const port = await servePort({
    name,
    version,
    sharedSettings: shared,
    host: config.RPC_HOST,
    port: config.RPC_PORT,
    services: [...registrations, register(StatusService, status)],
    verifier: createVerifier({ directory: config.CALLER_PUBLIC_KEYS_DIR, service: name, log }),
    log,
    readiness,
    drainDelayMs: farewellMs,
    graceMs: config.DRAIN_GRACE_MS,
    ...(maxRequestBytes === undefined ? {} : { limits: { maxBodyBytes: maxRequestBytes } }),
  });
  proc.onStop("rpc port", () => port.drain());
  return port.port;
}

const withoutCopy: LearnTenants = () => Promise.reject(new Error("this service keeps no copy of the tenants"));

/** The copy of the tenants. It fetches single tenants on demand from now on, and follows tenancy once started. */
function tenantCopyOf(deps: TenantCopyDeps, config: CopySettings, proc: Process) {
  const { service } = deps;
  const snapshot = tenancySnapshot({
    service,
    baseUrls: config.TENANCY_URL ?? [],
    privateKeys: config.CALLER_PRIVATE_KEYS,
  });
  proc.onStop("tenancy client", () => snapshot.close());
  return {
    learnTenants: learningFrom(snapshot, deps),
    follow() {
      const reconciling = startReconciling(deps, snapshot);
      proc.onStop("tenant copy", () => reconciling.stop());
      return async (bus: Bus) => followTenancy(bus, deps);
    },
  };
}

/** Connects in the background: streams this service owns, its relay, then the waiting users of the bus. */
function connectBus(options: {
  name: string;
  config: z.infer<z.ZodObject<typeof serviceSettings>>;
  proc: Process;
  db: Database;
  busUsers: BusUser[];
  alsoPublished: ServiceDefinition<z.ZodRawShape>["alsoPublished"];
}): void {
  const { name, config, proc, db, busUsers, alsoPublished } = options;
  const { log } = proc;
  let state = "connecting";
  proc.readiness.addCheck("nats", () => state);
  const connected = openBus({
    servers: config.NATS_URL,
    seed: config.NATS_NKEY_SEED,
    name,
    replicas: config.NATS_STREAM_REPLICAS,
    tls: busTls(config),
    log,
  }).then(async (bus) => {
    const stops: { stop(): Promise<void> | void }[] = [];
    proc.readiness.addCheck("nats", () => bus.check());
    for (const [stream, owner] of Object.entries(streamOwner)) {
      if (owner === name) await bus.ensureStream(stream as StreamName);
    }
    stops.push(
      startRelay({ db, transport: transportOf(bus, alsoPublished), wakeUp: outboxWakeUp(bus.relay, name), log }),
    );
    for (const start of busUsers) {
      const stoppable = await start(bus);
      if (stoppable) stops.push(stoppable);
    }
    return { bus, stops };
  });
  connected.catch((err: unknown) => {
    state = "failed";
    if (proc.stopping.aborted) return;
    log.fatal({ err }, "cannot use the message bus");
    process.kill(process.pid, "SIGTERM");
  });
  proc.onStop("bus", async () => {
    const opened = await settledWithin(
      500,
      connected.catch(() => null),
    );
    if (!opened) return;
    for (const stoppable of opened.stops.reverse()) await stoppable.stop();
    await opened.bus.close();
  });
}

/** Publishes, and repeats on core NATS the messages configured for it once the stream has them. */
function transportOf(
  { transport, relay }: Bus,
  alsoPublished: (subject: string) => string | null = () => null,
): Transport {
  return {
    ...transport,
    async publish(message) {
      const promised = await transport.publish(message);
      const subject = alsoPublished(message.subject);
      if (subject !== null) relay.publish(subject, message.body);
      return promised;
    },
  };
}
