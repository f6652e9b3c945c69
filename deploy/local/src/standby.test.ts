import { spawnSync } from "node:child_process";
import { appendFileSync, chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Database, openDatabase, openReplica, type Replica, sql } from "@muster/db";
import { createLogger } from "@muster/kit";
import { type MovingAddress, movingAddress, until } from "@muster/testing";
import { freePort } from "./ports.ts";
import { type Cluster, initCluster, postgresUrl, startCluster, stopCluster, superuser } from "./postgres.ts";
import { postgresBinaries } from "./postgres-binaries.ts";
import { cacheFolders, temporaryRoot } from "./test-cluster.ts";
import { findRunAs } from "./unprivileged.ts";

const log = createLogger("test", "fatal");
const anyone = { caller: null };
const password = "a password of tests alone";
const settings = { shared_buffers: "16MB", fsync: "off" };
let folder: string;
let primary: Cluster;
let standby: Cluster;
let ports: { primary: number; standby: number };
let address: MovingAddress;
/** Where the address leads. */
let target: number;
let db: Database;
let replica: Replica;

beforeAll(async () => {
  const user = findRunAs("");
  if (user === undefined) throw new Error("no user to run PostgreSQL as");
  folder = mkdtempSync(join(temporaryRoot(user), "muster-standby-"));
  chmodSync(folder, 0o755);
  const binaries = postgresBinaries(user, cacheFolders(folder, tmpdir()));
  const cluster = (name: string): Cluster => ({
    binaries,
    user,
    dataDir: join(folder, name, "data"),
    logFile: join(folder, `${name}.log`),
    settings,
  });
  [primary, standby] = [cluster("primary"), cluster("standby")];
  ports = { primary: await freePort(), standby: await freePort() };
  await initCluster(primary, password);
  // A copy of a server that never ran is a standby that has replayed nothing yet.
  spawnSync("cp", ["-a", join(folder, "primary"), join(folder, "standby")]);
  const source = `host=127.0.0.1 port=${ports.primary} user=${superuser} password=''${password}''`;
  appendFileSync(join(standby.dataDir, "postgresql.auto.conf"), `primary_conninfo = '${source}'\n`);
  writeFileSync(join(standby.dataDir, "standby.signal"), "");
  await startCluster(primary, ports.primary);
  await startCluster(standby, ports.standby);
  target = ports.primary;
  address = await movingAddress(() => target);
  const urlAt = (port: number) => postgresUrl(port, "postgres", superuser, password);
  db = openDatabase({ url: urlAt(address.port), max: 3, name: "moving", log });
  replica = openReplica({ url: urlAt(ports.standby), primary: db, max: 2, log, maxLagMs: 2_000, pollMs: 50 });
  await db.tx(anyone, (t) => t.execute(sql`create table note (id int primary key)`));
}, 120_000);

afterAll(async () => {
  await replica?.stop();
  await db?.close();
  await address?.close();
  for (const cluster of [standby, primary]) if (cluster) await stopCluster(cluster, 2);
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const insert = (id: number) => db.tx(anyone, (t) => t.execute(sql`insert into note values (${id})`));
const notes = async (of: Database) =>
  (await of.read<{ id: number }>(anyone, sql`select id from note order by id`)).length;

// In this order: what comes later has another primary.
describe("a primary with a standby", () => {
  it("is read at the standby once that holds what was there at the time it names", async () => {
    await insert(1);
    const writtenAt = new Date();
    const { db: read, asOf } = await until("the standby to catch up", () => {
      const picked = replica.pick();
      return picked.asOf !== null && picked.asOf > writtenAt ? picked : null;
    });
    expect(read).not.toBe(db);
    expect(asOf?.getTime()).toBeLessThanOrEqual(Date.now() + 1_000);
    expect(await notes(read)).toBe(1);
    expect(replica.state()).toMatch(/^lags \d\.\d s$/);
  });

  it("is read itself while the standby does not go on", async () => {
    const asSuperuser = openDatabase({
      url: postgresUrl(ports.standby, "postgres", superuser, password),
      max: 1,
      name: "standby",
      log,
      standby: true,
    });
    await asSuperuser.read(anyone, sql`select pg_wal_replay_pause()`);
    await insert(2);
    await until("the standby to be passed over", () => replica.pick().asOf === null);
    expect(replica.pick().db).toBe(db);
    expect(replica.state()).toMatch(/^not read: lags \d+\.\d s$/);
    await asSuperuser.read(anyone, sql`select pg_wal_replay_resume()`);
    await until("the standby to be read again", () => replica.pick().asOf !== null);
    expect(await notes(replica.pick().db)).toBe(2);
    await asSuperuser.close();
  });

  it("is never taken to be the server of an address that leads to the standby", async () => {
    target = ports.standby;
    address.disconnect();
    await expect(insert(3)).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
    await expect(insert(3)).rejects.toMatchObject({
      cause: { message: "the database at this address is a standby" },
    });
  });

  it("is followed by the promoted standby without a new pool", async () => {
    const promoter = openDatabase({
      url: postgresUrl(ports.standby, "postgres", superuser, password),
      max: 1,
      name: "promoter",
      log,
      standby: true,
    });
    await promoter.read(anyone, sql`select pg_promote()`);
    await until("a write", () =>
      insert(4).then(
        () => true,
        () => false,
      ),
    );
    expect(await notes(db)).toBe(3);
    await promoter.close();
    // What was the replica is none any more: it is the server that is written to.
    // Before that it may be passed over for a reason that is older than the promotion.
    await until("no replica", () => replica.state() === "not read: it is no standby");
    expect(replica.pick().db).toBe(db);
  });
});
