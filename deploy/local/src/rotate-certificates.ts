import { join } from "node:path";
import { sleep } from "@muster/kit/light";
import { certificateFolder, parties } from "./base.ts";
import { certificateOf, rotateCertificates } from "./certificates.ts";
import { readConfig } from "./config.ts";
import { clusterFolder, readJson } from "./data-folder.ts";
import { ownCopies } from "./database.ts";
import { Problem } from "./problem.ts";
import { signal } from "./process-table.ts";
import type { StackFile } from "./stack-file.ts";
import { findRunAs } from "./unprivileged.ts";

/** Files are looked at once a second; connections that were verified before are not verified again. */
const readAgainMs = 3_000;

/**
 * `npm run muster -- certificates`: a new authority and new certificates for the local cluster that runs, while it goes
 * on; throws a `Problem` when none runs or it has no TLS.
 */
export async function rotateClusterCertificates(dataDir: string): Promise<void> {
  const stack = readJson<StackFile>(join(dataDir, "stack.json"));
  if (!stack) throw new Problem(`No cluster runs on ${dataDir}: start it first (MUSTER_TLS=true npm start).`);
  if (!stack.tls) throw new Problem("This cluster has no TLS: start it with MUSTER_TLS=true.");
  const folder = certificateFolder(dataDir);
  const settled = async () => {
    notifyServers(dataDir, stack);
    await sleep(readAgainMs);
  };
  await rotateCertificates(folder, parties, settled);
  notifyServers(dataDir, stack);
}

export const rotateOwnCertificates = () => rotateClusterCertificates(readConfig().dataDir);

/**
 * Our processes notice new files by themselves. PostgreSQL and PgBouncer have their own copies; they and NATS reload on
 * SIGHUP.
 */
function notifyServers(dataDir: string, stack: StackFile): void {
  const folder = certificateFolder(dataDir);
  if (stack.postgres || stack.pgbouncer) {
    const user = findRunAs(join(dataDir, "postgres", "data")) ?? null;
    const copies = join(clusterFolder(dataDir, user).folder, "tls");
    ownCopies(copies, user, certificateOf(folder, "postgres"));
    if (stack.pgbouncer) ownCopies(copies, user, { ca: join(folder, "ca.pem"), ...certificateOf(folder, "pgbouncer") });
  }
  for (const server of [stack.postgres, stack.pgbouncer, ...stack.natsServers]) {
    if (server?.pid) signal(server.pid, "SIGHUP");
  }
}
