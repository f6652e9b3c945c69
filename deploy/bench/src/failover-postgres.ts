import { type SpawnSyncOptions, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "@muster/local";
import { movingAddress } from "@muster/testing";
import pg from "pg";
import { proxyAddress } from "./failover-proxy.ts";
import { mountSmallDisk, type SmallDisk } from "./small-disk.ts";

const debian = "/usr/lib/postgresql";
const looksMs = 200;
const answersWithinMs = 1_000;
/** Looks in a row without an answer after which the standby is promoted. */
const patience = 3;

/** Folder of a PostgreSQL with pg_basebackup; null where there is none (the embedded one has it not). */
export function pairBinaries(): string | null {
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const own = process.env.MUSTER_POSTGRES_BIN;
  const folders = [...(own ? [own] : []), ...versions.map((version) => join(debian, version, "bin"))];
  return folders.find((folder) => existsSync(join(folder, "pg_basebackup"))) ?? null;
}

type Server = { name: string; folder: string; port: number };

export type Pair = {
  /** As its administrator, at the one address that follows the primary. */
  url: string;
  /** Ends the primary as a power failure does. */
  kill(): void;
  /** Stops the primary in order: nothing that was acknowledged is missing on the standby. */
  stop(): void;
  /** Pauses the primary; it holds its connections and answers nothing. */
  pause(): void;
  resume(): void;
  /** Cuts every connection through the address. */
  disconnect(): void;
  /** Resolves with the time (`performance.now()`) of the next promotion. */
  promoted(): Promise<number>;
  /** Fills the disk of the primary; only for a pair that was started with `disks`. */
  fillDisk(): void;
  freeDisk(): void;
  /** Makes the server that is no primary a synchronous standby of the one that is. */
  rebuild(): Promise<void>;
  remove(): Promise<void>;
};

/**
 * Two PostgreSQL servers, the second a synchronous standby, behind one address that an operator moves: it looks at the
 * primary five times a second, and after three looks without an answer within a second promotes the standby, cuts the
 * connections and leads the address there. With `disks` each server has its own disk in memory, of that size. With
 * `proxy` a haproxy forwards to the primary, which it finds by itself.
 */
export async function startPair(
  bin: string,
  { disks = null, proxy = null }: { disks?: { mb: number } | null; proxy?: string | null } = {},
): Promise<Pair> {
  const user = process.getuid?.() === 0 ? { uid: idOf("postgres", "-u"), gid: idOf("postgres", "-g") } : {};
  const root = mkdtempSync(join("/tmp", "muster-pair-"));
  own(root);
  const password = randomBytes(12).toString("hex");
  const servers: [Server, Server] = [
    { name: "a", folder: join(root, "a"), port: await freePort() },
    { name: "b", folder: join(root, "b"), port: await freePort() },
  ];
  let [primary, standby] = servers;
  const small = new Map<Server, SmallDisk>();
  if (disks) {
    for (const server of servers) {
      const disk = mountSmallDisk(server.folder, disks.mb);
      small.set(server, disk);
      own(server.folder);
      server.folder = join(server.folder, "data");
    }
  }
  let watching = true;
  let mayPromote = false;
  const listeners: ((atMs: number) => void)[] = [];

  function own(path: string): void {
    if (user.uid !== undefined) chownSync(path, user.uid, user.gid as number);
  }
  const run = (program: string, args: string[], more: SpawnSyncOptions = {}) => {
    const result = spawnSync(join(bin, program), args, {
      cwd: "/",
      encoding: "utf8",
      timeout: 60_000,
      env: { PATH: process.env.PATH, PGPASSWORD: password, LC_ALL: "C" },
      ...user,
      ...more,
    });
    if (result.status !== 0) throw new Error(`${program}: ${result.stderr}${result.stdout}`);
  };
  const control = (server: Server, ...args: string[]) =>
    // Without pipes, which the server would inherit and hold open.
    run("pg_ctl", ["-D", server.folder, "-s", "-w", "-l", join(root, `${server.name}.log`), ...args], {
      stdio: "ignore",
    });
  const urlOf = (port: number, database = "postgres") =>
    `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
  const ask = async <R extends pg.QueryResultRow>(server: Server, text: string): Promise<R[]> => {
    const client = new pg.Client({
      connectionString: urlOf(server.port),
      connectionTimeoutMillis: answersWithinMs,
      query_timeout: answersWithinMs,
    });
    client.on("error", () => undefined);
    try {
      await client.connect();
      return (await client.query<R>(text)).rows;
    } finally {
      // A paused server would not take part in a farewell.
      (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
    }
  };

  const passwordFile = join(root, "password");
  writeFileSync(passwordFile, password);
  own(passwordFile);
  run("initdb", [
    "-D",
    primary.folder,
    "-U",
    "postgres",
    "-A",
    "scram-sha-256",
    `--pwfile=${passwordFile}`,
    "-E",
    "UTF8",
    "--locale=C.UTF-8",
  ]);
  appendFileSync(
    join(primary.folder, "postgresql.conf"),
    `listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = 64MB
max_wal_senders = 4
wal_keep_size = 256MB
wal_sender_timeout = 5s
`,
  );
  control(primary, "-o", `-p ${primary.port}`, "start");

  const address = proxy
    ? await proxyAddress(proxy, [servers[0].port, servers[1].port], (n) => servers[n] === primary)
    : await movingAddress(() => primary.port);
  const rebuild = async () => {
    mayPromote = false;
    spawnSync(join(bin, "pg_ctl"), ["-D", standby.folder, "-m", "immediate", "stop"], {
      cwd: "/",
      stdio: "ignore",
      ...user,
    });
    rmSync(standby.folder, { recursive: true, force: true });
    await ask(primary, "alter system reset synchronous_standby_names");
    await ask(primary, "select pg_reload_conf()");
    const source = `host=127.0.0.1 port=${primary.port} user=postgres password=${password} application_name=standby`;
    run("pg_basebackup", ["-D", standby.folder, "-d", source, "-R", "-X", "stream", "-c", "fast"]);
    control(standby, "-o", `-p ${standby.port}`, "start");
    await ask(primary, "alter system set synchronous_standby_names = '*'");
    await ask(primary, "select pg_reload_conf()");
    for (;;) {
      const rows = await ask<{ state: string }>(primary, "select sync_state as state from pg_stat_replication");
      if (rows.some(({ state }) => state === "sync")) break;
      await delay(looksMs);
    }
    mayPromote = true;
  };
  await rebuild();

  const pidOf = (server: Server) => Number(readFileSync(join(server.folder, "postmaster.pid"), "utf8").split("\n")[0]);
  /** Signals the children, too: they end after the postmaster, but a power failure ends all of them at once. */
  const signalAll = (server: Server, name: NodeJS.Signals) => {
    const pid = pidOf(server);
    const children = spawnSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" }).stdout;
    for (const each of [pid, ...children.split("\n").map(Number).filter(Boolean)]) {
      try {
        process.kill(each, name);
      } catch {
        // It ended by itself.
      }
    }
  };
  const operate = async () => {
    for (let silent = 0; watching; ) {
      await delay(looksMs);
      if (!mayPromote) continue;
      silent = (await ask(primary, "select 1").then(
        () => true,
        () => false,
      ))
        ? 0
        : silent + 1;
      if (silent < patience) continue;
      silent = 0;
      mayPromote = false;
      control(standby, "promote");
      // The new primary has no standby yet: until it has one, acknowledged data is on one server only.
      await ask(standby, "alter system reset synchronous_standby_names");
      await ask(standby, "select pg_reload_conf()");
      [primary, standby] = [standby, primary];
      if (!proxy) address.disconnect();
      const atMs = performance.now();
      for (const listener of listeners.splice(0)) listener(atMs);
    }
  };
  const operating = operate();

  return {
    url: urlOf(address.port),
    kill: () => signalAll(primary, "SIGKILL"),
    stop: () => control(primary, "-m", "fast", "stop"),
    pause() {
      mayPromote = false;
      signalAll(primary, "SIGSTOP");
    },
    resume() {
      signalAll(primary, "SIGCONT");
      mayPromote = true;
    },
    disconnect: address.disconnect,
    fillDisk: () => small.get(primary)?.fill(),
    freeDisk: () => {
      for (const disk of small.values()) disk.free();
    },
    promoted: () => new Promise((resolve) => void listeners.push(resolve)),
    rebuild,
    async remove() {
      watching = false;
      await operating;
      await address.close();
      for (const server of servers) {
        if (existsSync(join(server.folder, "postmaster.pid"))) signalAll(server, "SIGCONT");
        spawnSync(join(bin, "pg_ctl"), ["-D", server.folder, "-m", "immediate", "stop"], {
          cwd: "/",
          stdio: "ignore",
          ...user,
        });
      }
      for (const disk of small.values()) disk.unmount();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function idOf(name: string, flag: "-u" | "-g"): number {
  return Number(spawnSync("id", [flag, name], { encoding: "utf8" }).stdout);
}
