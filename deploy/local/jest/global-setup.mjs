import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { stopClusters } from "./global-teardown.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
const built = join(root, "deploy", "local", "dist", "test-cluster.js");

/**
 * One PostgreSQL for the whole run and a nats-server binary: MUSTER_TEST_PG_URL (superuser) and MUSTER_TEST_NATS_BIN.
 */
export default async function globalSetup() {
  process.env.NODE_ENV = "test";
  if (!existsSync(built)) {
    throw new Error(
      "Tests start PostgreSQL with deploy/local, which is not built: run `npm run build` first, or `npm test`.",
    );
  }
  const { cacheFolders, startTestCluster, testNatsServer } = await import(built);
  // Where e2e suites keep the one cluster they share (gateway/e2e/support/shared-cluster.ts); nothing is started until
  // one asks.
  process.env.MUSTER_E2E_DIR ??= mkdtempSync(join(tmpdir(), "muster-e2e-"));
  const cache = cacheFolders(root, tmpdir());
  process.env.MUSTER_TEST_NATS_BIN ??= await testNatsServer(cache);
  if (process.env.MUSTER_TEST_PG_URL) return;
  const cluster = await startTestCluster(cache);
  process.env.MUSTER_TEST_PG_URL = cluster.url;
  globalThis.musterTestCluster = cluster;
  // jest runs no teardown when it is interrupted. What a SIGKILL leaves is removed by the next run.
  for (const [name, status] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 })) {
    process.once(name, async () => {
      await Promise.allSettled([stopClusters(process.env.MUSTER_E2E_DIR), cluster.stop()]);
      process.exit(status);
    });
  }
}
