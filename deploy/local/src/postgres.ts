import { type SpawnOptions, spawn } from "node:child_process";
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { PostgresBinaries } from "./postgres-binaries.ts";
import { Problem } from "./problem.ts";
import { alive, commandOf, gone, signal } from "./process-table.ts";
import type { RunAs } from "./unprivileged.ts";

export const superuser = "postgres";

/** One cluster: its programs, its folder, the user that runs it and its log file. */
export type Cluster = {
  binaries: PostgresBinaries;
  user: RunAs;
  dataDir: string;
  logFile: string;
  /** Server settings beyond the supervisor's own (`-c name=value`). */
  settings: Record<string, string>;
};

export type Postmaster = { pid: number; port: number };

/** Creates the cluster unless it exists: UTF-8, scram for every connection. An interrupted creation leaves nothing. */
export async function initCluster(cluster: Cluster, password: string): Promise<void> {
  const { binaries, dataDir, user } = cluster;
  const recorded = join(dataDir, "PG_VERSION");
  if (existsSync(recorded)) {
    const major = readFileSync(recorded, "utf8").trim();
    if (major === String(binaries.major)) return;
    throw new Problem(
      `The data in ${dataDir} is PostgreSQL ${major}'s, this is PostgreSQL ${binaries.version}.\n` +
        "Start with another MUSTER_DATA_DIR, or give MUSTER_POSTGRES_BIN (the programs of that version) to read the old data.",
    );
  }
  const fresh = `${dataDir}.new`;
  const passwordFile = `${dataDir}.pw`;
  mkdirSync(dirname(dataDir), { recursive: true, mode: 0o755 });
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { mode: 0o700 });
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user) for (const path of [fresh, passwordFile]) chownSync(path, user.uid, user.gid);
  // From 17 on PostgreSQL brings its own C.UTF-8, the same on every system.
  const locale =
    binaries.major >= 17
      ? ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
      : [process.platform === "linux" ? "--locale=C.UTF-8" : "--locale=C"];
  const args = [
    "-D",
    fresh,
    "-U",
    superuser,
    "-A",
    "scram-sha-256",
    `--pwfile=${passwordFile}`,
    "-E",
    "UTF8",
    ...locale,
  ];
  try {
    const status = await run(cluster, "initdb", [...args, "--no-instructions", "--no-sync"]);
    if (status !== 0) throw new Problem(`PostgreSQL's initdb failed (status ${status}):\n${logTail(cluster.logFile)}`);
    renameSync(fresh, dataDir);
  } finally {
    rmSync(passwordFile, { force: true });
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** The server that runs on this folder, by its pid file; null when none does (a recycled pid is no server). */
export function runningPostmaster(dataDir: string): Postmaster | null {
  const recorded = recordedPostmaster(dataDir);
  return recorded && alive(recorded.pid) && commandOf(recorded.pid)?.includes(dataDir) ? recorded : null;
}

function recordedPostmaster(dataDir: string): Postmaster | null {
  const file = join(dataDir, "postmaster.pid");
  if (!existsSync(file)) return null;
  const lines = readFileSync(file, "utf8").split("\n");
  const pid = Number(lines[0]);
  return pid ? { pid, port: Number(lines[3]) } : null;
}

/**
 * PostgreSQL refuses to start while any process has the recorded pid, even one that got the number later, or the zombie
 * of a killed server. Its own check of the shared memory still keeps it from starting next to backends of a killed
 * server.
 */
function dropStalePidFile(dataDir: string): void {
  const recorded = recordedPostmaster(dataDir);
  if (!recorded) return;
  const runs = alive(recorded.pid) && /(^|\/)postgres(\.exe)?[ :]/.test(commandOf(recorded.pid) ?? "postgres ");
  if (!runs) rmSync(join(dataDir, "postmaster.pid"), { force: true });
}

/** Starts the server on 127.0.0.1 and waits until it takes connections; recovers after a crash first when it must. */
export async function startCluster(cluster: Cluster, port: number): Promise<Postmaster> {
  const { dataDir } = cluster;
  // Backends of a killed server hold its shared memory until they notice; PostgreSQL refuses to start beside them.
  const deadline = performance.now() + 20_000;
  for (;;) {
    dropStalePidFile(dataDir);
    const logged = existsSync(cluster.logFile) ? readFileSync(cluster.logFile).length : 0;
    const options = serverOptions(port, cluster.settings);
    const status = await run(cluster, "pg_ctl", ["-D", dataDir, "-s", "-w", "-t", "120", "-o", options, "start"]);
    const postmaster = runningPostmaster(dataDir);
    if (status === 0 && postmaster) return postmaster;
    const said = readFileSync(cluster.logFile).subarray(logged).toString("utf8");
    if (/pre-existing shared memory block/.test(said) && performance.now() < deadline) {
      await delay(250);
      continue;
    }
    throw new Problem(
      `PostgreSQL did not start on port ${port} (see ${cluster.logFile})\n${said.trim().split("\n").slice(-15).join("\n")}`,
    );
  }
}

/** Stops the server: fast, and when that takes longer than the grace (seconds) immediately. None running is fine. */
export async function stopCluster(cluster: Cluster, graceSeconds = 6): Promise<void> {
  const postmaster = runningPostmaster(cluster.dataDir);
  if (!postmaster) return;
  const stop = ["-D", cluster.dataDir, "-s", "-w"];
  if ((await run(cluster, "pg_ctl", [...stop, "-t", String(graceSeconds), "-m", "fast", "stop"])) === 0) return;
  await run(cluster, "pg_ctl", [...stop, "-t", "3", "-m", "immediate", "stop"]);
  if (!(await gone(postmaster.pid, 500))) signal(postmaster.pid, "SIGKILL");
}

export function postgresUrl(port: number, database: string, user: string, password: string): string {
  return `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
}

function serverOptions(port: number, settings: Record<string, string>): string {
  const all: Record<string, string> = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    max_connections: "300",
    ...settings,
  };
  return Object.entries(all)
    .map(([name, value]) => `-c ${name}='${value}'`)
    .join(" ");
}

/** Runs one of PostgreSQL's programs as the cluster's user, output into its log; answers the exit status. */
function run(cluster: Cluster, program: string, args: string[]): Promise<number> {
  const { binaries, user, logFile } = cluster;
  mkdirSync(dirname(logFile), { recursive: true });
  const log = openSync(logFile, "a", 0o600);
  const options: SpawnOptions = {
    cwd: "/",
    // No PG… variable of the person's shell may reach the server.
    env: { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" },
    // A group's SIGTERM must not reach the server before its clients have ended.
    detached: true,
    stdio: ["ignore", log, log],
    ...(user ? { uid: user.uid, gid: user.gid } : {}),
  };
  return new Promise<number>((resolve, reject) => {
    const child = spawn(join(binaries.bin, program), args, options);
    child.once("error", (cause) => reject(new Problem(`${program} could not be run: ${cause.message}`, { cause })));
    child.once("exit", (code) => resolve(code ?? 1));
  }).finally(() => closeSync(log));
}

function logTail(file: string): string {
  return readFileSync(file, "utf8").trim().split("\n").slice(-15).join("\n");
}
