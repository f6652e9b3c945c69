import { chownSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { roleNames } from "@muster/db/role-names";
import { sleep } from "@muster/kit/light";
import { clusterFolder, requireSpace } from "./data-folder.ts";
import { startGuard } from "./guard.ts";
import { guarded, keepRunning, type Run, type SupervisedProcess, started } from "./keep-running.ts";
import { type Keys, umbrellaRole, workerRole } from "./keys.ts";
import {
  type Cluster,
  initCluster,
  postgresUrl,
  runningPostmaster,
  startCluster,
  stopCluster,
  superuser,
} from "./postgres.ts";
import { postgresBinaries } from "./postgres-binaries.ts";
import { Problem } from "./problem.ts";
import { alive } from "./process-table.ts";
import { type ServiceName, serviceNames, type WorkerName, workerNames } from "./replicas.ts";
import { findRunAs, type RunAs } from "./unprivileged.ts";

export const databaseName = "muster";
const watchMs = 100;

export type LocalPostgres = {
  supervised: SupervisedProcess;
  adminUrl: string;
  version: string;
  notes: string[];
  /** The user that runs PostgreSQL, and the folder that this user may enter. */
  user: RunAs;
  folder: string;
};

/** Starts the data folder's own PostgreSQL (created at the first start) and keeps it running on the same port. */
export async function runPostgres(options: {
  dataDir: string;
  port: number;
  ownBin: string | undefined;
  password: string;
  /** Connections are encrypted, or refused. */
  tls: { ca: string; cert: string; key: string } | null;
  changed: () => void;
  say: (line: string) => void;
  longestWaitMs?: number;
}): Promise<LocalPostgres> {
  const { dataDir, port, changed, say, longestWaitMs } = options;
  const user = findRunAs(join(dataDir, "postgres", "data"));
  if (user === undefined) {
    throw new Problem(
      "PostgreSQL refuses to run as root and this system has no other user: add one, or give MUSTER_DATABASE_URL.",
    );
  }
  const location = clusterFolder(dataDir, user);
  requireSpace(location.elsewhere ? join(location.folder, "..") : dataDir);
  const copies = user ? ["/var/lib/muster", "/var/tmp/muster"] : [join(dataDir, "bin")];
  const binaries = postgresBinaries(user, copies, options.ownBin);
  const cluster: Cluster = {
    binaries,
    user,
    dataDir: join(location.folder, "data"),
    logFile: join(dataDir, "logs", "postgres.log"),
    settings: { log_line_prefix: "%m [%p] %q%u@%d " },
  };
  if (options.tls) Object.assign(cluster.settings, tlsSettings(location.folder, user, options.tls));
  const notes: string[] = [];
  if (user) notes.push(`PostgreSQL runs as user ${user.name}, not as root`);
  if (location.elsewhere)
    notes.push(`PostgreSQL's data is in ${location.folder}: user ${user?.name} may not enter ${dataDir}`);
  const orphan = runningPostmaster(cluster.dataDir);
  if (orphan) {
    notes.push(`stopped the PostgreSQL that a killed supervisor left running (process ${orphan.pid})`);
    await stopCluster(cluster);
  }
  await initCluster(cluster, options.password);
  const start = async (): Promise<Run> => {
    const { pid } = await startCluster(cluster, port);
    return { pid, ended: watch(pid), stop: (graceMs) => stopCluster(cluster, Math.ceil(graceMs / 1000)) };
  };
  const pidFile = join(cluster.dataDir, "postmaster.pid");
  const guard = startGuard({ pidFile, signal: "INT", marker: cluster.dataDir });
  const supervised = await started(
    guarded(keepRunning({ name: "PostgreSQL", start, changed, say, longestWaitMs }), guard),
  );
  return {
    supervised,
    adminUrl: `${postgresUrl(port, "postgres", superuser, options.password)}${options.tls ? verifiedBy(options.tls.ca) : ""}`,
    version: binaries.version,
    notes,
    user,
    folder: location.folder,
  };
}

const verifiedBy = (ca: string) => `?sslmode=verify-full&sslrootcert=${encodeURIComponent(ca)}`;

/** Settings under which the server accepts only TLS; it accepts keys that its own user owns. */
function tlsSettings(folder: string, user: RunAs, { cert: sourceCert, key: sourceKey }: { cert: string; key: string }) {
  const { cert, key } = ownCopies(join(folder, "tls"), user, { cert: sourceCert, key: sourceKey });
  const hba = join(folder, "tls_hba.conf");
  writeFileSync(hba, "hostssl all all 127.0.0.1/32 scram-sha-256\n", { mode: 0o644 });
  return { ssl: "on", ssl_cert_file: cert, ssl_key_file: key, hba_file: hba };
}

/** Copies of the files that `user` may read, in `folder`, under the same names. */
export function ownCopies<F extends Record<string, string>>(folder: string, user: RunAs, files: F): F {
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const copies = Object.entries(files).map(([part, file]) => {
    const copy = join(folder, basename(file));
    writeFileSync(`${copy}.new`, readFileSync(file), { mode: 0o600 });
    if (user) chownSync(`${copy}.new`, user.uid, user.gid);
    renameSync(`${copy}.new`, copy);
    return [part, copy];
  });
  return Object.fromEntries(copies) as F;
}

/** Polls, since pg_ctl starts the server in another session: it is no child process that could be waited for. */
async function watch(pid: number): Promise<string> {
  while (alive(pid)) await sleep(watchMs);
  return `process ${pid} is gone (see logs/postgres.log)`;
}

export type DatabaseUrls = {
  umbrella: string;
  owner: Record<ServiceName, string>;
  app: Record<ServiceName, string>;
  worker: Record<WorkerName, string>;
};

/** The URLs of the roles that log in to the database of an administrator's URL. */
export function databaseUrls(inDatabase: URL, { rolePasswords }: Pick<Keys, "rolePasswords">): DatabaseUrls {
  const as = (role: string) => {
    const url = new URL(inDatabase);
    url.username = role;
    url.password = encodeURIComponent(rolePasswords[role] ?? "");
    return url.href;
  };
  const urls = (role: "owner" | "app") =>
    Object.fromEntries(serviceNames.map((name) => [name, as(roleNames(name)[role])])) as Record<ServiceName, string>;
  const worker = Object.fromEntries(workerNames.map((name) => [name, as(workerRole(name))])) as DatabaseUrls["worker"];
  return { umbrella: as(umbrellaRole), owner: urls("owner"), app: urls("app"), worker };
}

/** The same URLs for what serves, through a pooler on this port; migrations and people go directly. */
export function throughPooler(urls: DatabaseUrls, port: number): DatabaseUrls {
  const moved = <N extends string>(of: Record<N, string>) =>
    Object.fromEntries(
      Object.entries<string>(of).map(([name, url]) => {
        const pooled = new URL(url);
        pooled.port = String(port);
        return [name, pooled.href];
      }),
    ) as Record<N, string>;
  return { ...urls, app: moved(urls.app), worker: moved(urls.worker) };
}

/**
 * roles.sql's name of a role's password: `muster_audit_app` → `audit_app_password`, the umbrella keeps its whole name.
 */
export function variableOf(role: string): string {
  return `${role === umbrellaRole ? role : role.replace(/^muster_/, "")}_password`;
}
