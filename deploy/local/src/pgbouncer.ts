import { spawn } from "node:child_process";
import { chownSync, closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { sleep } from "@muster/kit/light";
import { databaseName } from "./database.ts";
import { startGuard } from "./guard.ts";
import { guarded, keepRunning, type Run, type SupervisedProcess, started } from "./keep-running.ts";
import { libraryPath } from "./pgbouncer-binary.ts";
import { Problem } from "./problem.ts";
import { gone, signal } from "./process-table.ts";
import type { RunAs } from "./unprivileged.ts";

export type PoolerOptions = {
  binary: string;
  /** Owned by `user`, which runs PgBouncer: it refuses root. */
  folder: string;
  user: RunAs;
  logFile: string;
  port: number;
  postgresPort: number;
  /** Passwords by role: PgBouncer logs clients in with them, and itself at PostgreSQL. */
  passwords: Record<string, string>;
  /** TLS on both sides with these files; readable by `user`. */
  tls: { ca: string; cert: string; key: string } | null;
  changed: () => void;
  say: (line: string) => void;
  longestWaitMs?: number;
};

const readyMs = 10_000;

/** The configuration: transactions are pooled, so that nothing of a session outlives its transaction. */
export function poolerConfig({ folder, port, postgresPort, tls }: PoolerOptions): string {
  const secured = tls
    ? `client_tls_sslmode = require
client_tls_key_file = ${tls.key}
client_tls_cert_file = ${tls.cert}
server_tls_sslmode = verify-full
server_tls_ca_file = ${tls.ca}
`
    : "";
  return `[databases]
${databaseName} = host=127.0.0.1 port=${postgresPort} dbname=${databaseName}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
pidfile = ${join(folder, "pgbouncer.pid")}
auth_type = scram-sha-256
auth_file = ${join(folder, "users.txt")}
pool_mode = transaction
max_client_conn = 1000
default_pool_size = 12
server_idle_timeout = 60
log_connections = 0
log_disconnections = 0
${secured}`;
}

/** Starts PgBouncer in transaction mode before the cluster's PostgreSQL and keeps it running on the same port. */
export async function runPooler(options: PoolerOptions): Promise<SupervisedProcess> {
  const { binary, folder, user, logFile, port, changed, say, longestWaitMs } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const config = join(folder, "pgbouncer.ini");
  const users = join(folder, "users.txt");
  const lines = Object.entries(options.passwords).map(([role, password]) => `"${role}" "${password}"\n`);
  writeFileSync(config, poolerConfig(options), { mode: 0o600 });
  writeFileSync(users, lines.join(""), { mode: 0o600 });
  if (user) for (const path of [folder, config, users]) chownSync(path, user.uid, user.gid);
  const start = async (): Promise<Run> => {
    const run = spawnAs(user, binary, config, folder, logFile);
    const state = await Promise.race([run.ended, accepts(port)]);
    if (state === null) return run;
    await run.stop(0);
    throw new Problem(`PgBouncer did not start on port ${port}: ${state} (see ${logFile})`);
  };
  const guard = startGuard({ pidFile: join(folder, "pgbouncer.pid"), signal: "TERM", marker: config });
  return started(guarded(keepRunning({ name: "PgBouncer", start, changed, say, longestWaitMs }), guard));
}

function spawnAs(user: RunAs, binary: string, config: string, cwd: string, logFile: string): Run {
  const log = openSync(logFile, "a", 0o600);
  const child = spawn(binary, [config], {
    cwd,
    env: { PATH: process.env.PATH, ...libraryPath(binary) },
    detached: true,
    stdio: ["ignore", log, log],
    ...(user ? { uid: user.uid, gid: user.gid } : {}),
  });
  closeSync(log);
  const pid = child.pid ?? 0;
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, by) => resolve(by ? `killed by ${by}` : `exit status ${code}`));
  });
  return {
    pid,
    ended,
    async stop(graceMs) {
      // INT lets transactions end; TERM would cut them.
      signal(pid, "SIGINT");
      if (await gone(pid, graceMs)) return;
      signal(pid, "SIGKILL");
      await gone(pid, 2_000);
    },
  };
}

async function accepts(port: number): Promise<string | null> {
  const deadline = performance.now() + readyMs;
  while (performance.now() < deadline) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => {
        socket.destroy();
        resolve(true);
      });
      socket.once("error", () => resolve(false));
    });
    if (open) return null;
    await sleep(30);
  }
  return `no answer within ${readyMs / 1_000} s`;
}
