import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { sql } from "@muster/db";
import { systemCaller } from "@muster/kit";
import { type TestDatabase, testDatabase } from "@muster/testing";
import type { Report } from "./report.ts";

const root = new URL("../../../", import.meta.url);
const local = new URL("deploy/local/dist/test-cluster.js", root);
type Local = {
  cacheFolders(root: string, temporary: string): string[];
  startTestCluster(folders: string[]): Promise<{ url: string; stop(): Promise<void> }>;
};

const hours = 24;
const rowBytes = 58;
const rowsPerWrite = 1_000;
const limitBytes = 3_072;

/**
 * `npm run bench -- metric-history [devices]`: bytes on disk of the history of metrics, for each of `devices` (50,000)
 * and a day, written hour by hour as tenancy does. Ends with status 1 above 3 KiB.
 */
export async function run([devices = "50000"]: string[], report: Report): Promise<void> {
  const { cacheFolders, startTestCluster } = (await import(local.href)) as Local;
  const cluster = await startTestCluster(cacheFolders(fileURLToPath(root), tmpdir()));
  process.env.MUSTER_TEST_PG_URL = cluster.url;
  const path = fileURLToPath(new URL("services/tenancy/migrations/", root));
  const database = await testDatabase({ service: "tenancy", dirs: [{ label: "tenancy", path }] });
  try {
    await fill(database, Number(devices), report);
  } finally {
    await database.drop();
    await cluster.stop();
  }
}

async function fill({ db }: TestDatabase, count: number, report: Report): Promise<void> {
  const system = { caller: systemCaller("tenancy") };
  const first = Math.floor(Date.now() / 3_600_000);
  const startedMs = performance.now();
  for (let hour = first; hour < first + hours; hour++) {
    for (let from = 0; from < count; from += rowsPerWrite) {
      await db.tx(system, (tx) =>
        tx.execute(sql`
          INSERT INTO device_metrics (device_id, hour, packed)
          SELECT md5(n::text)::uuid, ${hour}::int,
                 substring(decode(repeat(md5(n::text || ${hour}::int), 4), 'hex') FOR ${rowBytes}::int)
          FROM generate_series(${from + 1}::int, ${Math.min(from + rowsPerWrite, count)}::int) AS n`),
      );
    }
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const [size] = await db.read<{ bytes: number }>(
    system,
    sql`SELECT sum(pg_total_relation_size(inhrelid))::float8 AS bytes FROM pg_inherits
        WHERE inhparent = 'device_metrics'::regclass`,
  );
  const perDevice = (size?.bytes ?? 0) / count;
  report.atMost("history of metrics, a device and day", perDevice, "B", limitBytes);
  report.also("rows written", (count * hours) / seconds, "rows/s");
  if (perDevice > limitBytes) process.exitCode = 1;
}
