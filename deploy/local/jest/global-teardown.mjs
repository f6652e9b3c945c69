import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { leaksOf } from "./leaks.mjs";
import { leftFile } from "./left-file.mjs";
import { remainingOf } from "./remaining.mjs";

const scan = new URL("../../../libs/testing/dist/secret-scan.js", import.meta.url);

/**
 * Ends the clusters that e2e suites shared and lent to one another, if they still run, and the PostgreSQL that
 * globalSetup started; servers named by the environment keep running. Names what suites left. Throws, which fails the
 * run, when a log or an audit row contains one of the secrets that the suites received.
 */
export default async function globalTeardown() {
  const e2e = process.env.MUSTER_E2E_DIR;
  const leaks = [];
  try {
    for (const found of await Promise.all(globalThis.musterEnded ?? [])) leaks.push(...found);
    if (e2e) await noteLeft(e2e, e2e);
    for (const directory of clustersOf(e2e)) leaks.push(...(await leaksOf(directory, await import(scan))));
  } finally {
    if (e2e) {
      const left = existsSync(join(e2e, leftFile)) ? readFileSync(join(e2e, leftFile), "utf8") : "";
      if (left !== "") console.error(`Suites left what they made:\n${left}`);
      await stopClusters(e2e);
      if (leaks.length === 0) rmSync(e2e, { recursive: true, force: true });
    }
    await globalThis.musterTestCluster?.stop();
  }
  if (leaks.length > 0) throw new Error(`Secrets were written down (${e2e} is kept):\n${leaks.join("\n")}`);
}

/**
 * Ends the cluster of that name (`shared`, `lent-killed`) before the run does; resolves with its leaks. A suite that
 * asks for it later starts another one.
 */
export async function endCluster(name) {
  const e2e = process.env.MUSTER_E2E_DIR;
  const directory = name === "shared" ? e2e : join(e2e, name);
  if (!existsSync(join(directory, "url"))) return [];
  const leaks = await leaksOf(directory, await import(scan));
  if (name === "shared") await noteLeft(e2e, directory);
  await stopSupervisor(join(directory, "supervisor.pid"));
  // With leaks the logs stay for whoever looks.
  const gone = leaks.length > 0 ? ["url", "starting", "supervisor.pid"] : ["url", "data", "supervisor.pid", "starting"];
  for (const entry of gone) rmSync(join(directory, entry), { recursive: true, force: true });
  return leaks;
}

async function noteLeft(e2e, directory) {
  for (const sentence of await remainingOf(directory)) appendFileSync(join(e2e, leftFile), `${sentence}\n`);
}

function clustersOf(e2e) {
  const lent = e2e ? readdirSync(e2e).filter((name) => /^lent-\w+$/.test(name)) : [];
  return e2e ? [e2e, ...lent.map((name) => join(e2e, name))] : [];
}

/** Ends the clusters of e2e suites whose folders are in there. */
export async function stopClusters(e2e) {
  await Promise.all(clustersOf(e2e).map((directory) => stopSupervisor(join(directory, "supervisor.pid"))));
}

async function stopSupervisor(pidFile) {
  let pid;
  try {
    pid = Number(readFileSync(pidFile, "utf8"));
    process.kill(pid, "SIGTERM");
  } catch {
    return; // None was started, or it ended by itself.
  }
  const end = Date.now() + 30_000;
  while (Date.now() < end) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`the e2e cluster's supervisor (pid ${pid}) did not stop within 30 s`);
}
