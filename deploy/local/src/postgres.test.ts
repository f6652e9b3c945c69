import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { freePort } from "./ports.ts";
import {
  type Cluster,
  initCluster,
  type Postmaster,
  postgresUrl,
  runningPostmaster,
  startCluster,
  stopCluster,
  superuser,
} from "./postgres.ts";
import { postgresBinaries } from "./postgres-binaries.ts";
import { alive, gone } from "./process-table.ts";
import { cacheFolders, temporaryRoot } from "./test-cluster.ts";
import { findRunAs } from "./unprivileged.ts";

const password = "of the superuser";
const user = findRunAs("") ?? null;
const folder = mkdtempSync(join(temporaryRoot(user), "muster-supervisor-"));
chmodSync(folder, 0o755);
let cluster: Cluster;
let port: number;

async function query(text: string): Promise<unknown[]> {
  const client = new pg.Client(postgresUrl(port, "postgres", superuser, password));
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

beforeAll(async () => {
  const binaries = postgresBinaries(user, cacheFolders(folder, folder));
  cluster = { binaries, user, dataDir: join(folder, "data"), logFile: join(folder, "log"), settings: { fsync: "off" } };
  port = await freePort();
  await initCluster(cluster, password);
});

afterAll(async () => {
  await stopCluster(cluster);
  rmSync(folder, { recursive: true, force: true });
});

describe("our PostgreSQL", () => {
  it("starts, takes connections by password only, over TCP only, and folds case beyond ASCII", async () => {
    const postmaster = await startCluster(cluster, port);
    expect(postmaster.port).toBe(port);
    expect(await query("select lower('ÄÖ') as lower, current_setting('unix_socket_directories') as sockets")).toEqual([
      { lower: "äö", sockets: "" },
    ]);
    const outsider = new pg.Client(postgresUrl(port, "postgres", superuser, "a guess"));
    await expect(outsider.connect()).rejects.toThrow("password authentication failed");
  });

  it("is not created again over its data", async () => {
    await query("create table kept as select 1 as one");
    await initCluster(cluster, password);
    expect(await query("select one from kept")).toEqual([{ one: 1 }]);
  });

  it("recovers what was committed after kill −9", async () => {
    const { pid } = runningPostmaster(cluster.dataDir) as Postmaster;
    process.kill(pid, "SIGKILL");
    await gone(pid, 5_000);
    expect(runningPostmaster(cluster.dataDir)).toBeNull();
    const again = await startCluster(cluster, port);
    expect(again.pid).not.toBe(pid);
    expect(await query("select one from kept")).toEqual([{ one: 1 }]);
  });

  it("is found by its pid file and stopped when it lost its supervisor", async () => {
    const { pid } = runningPostmaster(cluster.dataDir) as Postmaster;
    await stopCluster({ ...cluster });
    expect(alive(pid)).toBe(false);
    await stopCluster(cluster);
  });

  it("starts although its pid file names another process, which is left alone", async () => {
    const stale = [process.pid, cluster.dataDir, "0", port, "", "127.0.0.1", ""].join("\n");
    writeFileSync(join(cluster.dataDir, "postmaster.pid"), stale);
    expect(runningPostmaster(cluster.dataDir)).toBeNull();
    expect((await startCluster(cluster, port)).pid).not.toBe(process.pid);
    await stopCluster(cluster);
  });

  it("says why when it cannot start", async () => {
    await expect(startCluster({ ...cluster, settings: { shared_buffers: "nonsense" } }, port)).rejects.toThrow(
      "nonsense",
    );
  });

  it("refuses the data of another version, naming both", async () => {
    const other = { ...cluster, binaries: { ...cluster.binaries, major: 99, version: "99.1" } };
    const recorded = readFileSync(join(cluster.dataDir, "PG_VERSION"), "utf8").trim();
    await expect(initCluster(other, password)).rejects.toThrow(new RegExp(`PostgreSQL ${recorded}'s.*99\\.1`));
  });
});
