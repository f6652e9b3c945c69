import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Ends the cluster that e2e suites shared and the PostgreSQL that globalSetup started; what was given stays. */
export default async function globalTeardown() {
  const e2e = process.env.MUSTER_E2E_DIR;
  if (e2e) {
    await stopLauncher(join(e2e, "launcher.pid"));
    rmSync(e2e, { recursive: true, force: true });
  }
  await globalThis.musterTestCluster?.stop();
}

async function stopLauncher(pidFile) {
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
  throw new Error(`the e2e cluster's launcher (pid ${pid}) did not stop within 30 s`);
}
