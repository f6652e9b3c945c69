import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf } from "@muster/kit/light";
import { natsServer } from "./nats-binary.ts";
import { ownFolder } from "./own-folder.ts";
import { freePort } from "./ports.ts";
import { type Cluster, initCluster, postgresUrl, startCluster, stopCluster, superuser } from "./postgres.ts";
import { type PostgresBinaries, postgresBinaries } from "./postgres-binaries.ts";
import { Problem } from "./problem.ts";
import { alive, birthOf } from "./process-table.ts";
import { canEnter, findRunAs, type RunAs } from "./unprivileged.ts";

export type TestCluster = { url: string; stop(): Promise<void> };

const prefix = "muster-test-pg-";

/** For tests of one machine's life: what a crash of the machine would lose may be lost, order and locking are real. */
const testSettings = {
  fsync: "off",
  full_page_writes: "off",
  synchronous_commit: "on",
  max_connections: "300",
  shared_buffers: "128MB",
  max_wal_size: "4GB",
};

/**
 * Folders that survive between runs, for copies of programs: the project's own, else (read-only checkout) elsewhere.
 */
export function cacheFolders(root: string, temporary: string): string[] {
  const shared = process.getuid?.() === 0 ? ["/var/lib/muster"] : [];
  return [join(root, ".muster", "bin"), ...shared, join(temporary, `muster-bin-${process.getuid?.() ?? "all"}`)];
}

/** One PostgreSQL cluster in a temporary folder, removed by `stop`. Removes what killed runs left behind first. */
export async function startTestCluster(cacheDirs: readonly string[]): Promise<TestCluster> {
  const user = findRunAs("");
  if (user === undefined) throw new Problem("PostgreSQL refuses to run as root and this system has no other user.");
  const binaries = postgresBinaries(user, cacheDirs, process.env.MUSTER_POSTGRES_BIN);
  const root = temporaryRoot(user);
  await sweep(root, user, binaries);
  const folder = mkdtempSync(join(root, prefix));
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, "owner"), `${process.pid} ${birthOf(process.pid)}`);
  const cluster = clusterIn(folder, user, binaries);
  const password = randomBytes(18).toString("base64url");
  await initCluster(cluster, password);
  const port = await freePort();
  await startCluster(cluster, port);
  return {
    url: postgresUrl(port, "postgres", superuser, password),
    async stop() {
      await stopCluster(cluster);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A folder for temporary clusters that the user who runs PostgreSQL may enter. */
export function temporaryRoot(user: RunAs): string {
  const root = [tmpdir(), "/tmp", "/var/tmp"].find((each) => existsSync(each) && canEnter(user, each));
  if (!root) throw new Problem("No temporary folder that the user who runs PostgreSQL may enter.");
  return root;
}

/** nats-server for tests, kept in the first cache folder that can be written. */
export async function testNatsServer(cacheDirs: readonly string[]): Promise<string> {
  const dir = cacheDirs.find(ownFolder);
  if (!dir) throw new Problem(`None of ${cacheDirs.join(", ")} can be written to keep nats-server in.`);
  return natsServer(process.env.NATS_SERVER_BIN, dir, (line) => console.error(line));
}

function clusterIn(folder: string, user: RunAs, binaries: PostgresBinaries): Cluster {
  return {
    binaries,
    user,
    dataDir: join(folder, "data"),
    logFile: join(folder, "postgres.log"),
    settings: testSettings,
  };
}

async function sweep(root: string, user: RunAs, binaries: PostgresBinaries): Promise<void> {
  for (const name of readdirSync(root).filter((entry) => entry.startsWith(prefix))) {
    const folder = join(root, name);
    try {
      const [pid, ...birth] = readFileSync(join(folder, "owner"), "utf8").split(" ");
      if (alive(Number(pid)) && birthOf(Number(pid)) === birth.join(" ")) continue;
      await stopCluster(clusterIn(folder, user, binaries), 1);
      rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      // Another user's, or one that is being made this moment.
      if (!["EACCES", "EPERM", "ENOENT", "ENOTEMPTY"].includes(codeOf(error))) throw error;
    }
  }
}
