import { existsSync } from "node:fs";
import { appendFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { readConfig } from "./config.ts";
import { openDataFolder } from "./data-folder.ts";
import { runPostgres } from "./database.ts";
import { loadKeys } from "./keys.ts";
import { migrateServices } from "./migrate-services.ts";
import { freePort } from "./ports.ts";
import { prepareDatabase } from "./prepare-database.ts";

/**
 * Prepares MUSTER_DATA_DIR as a data folder for a start: keys, database, roles and schemas, without any user. Tests
 * copy it for each of their clusters. Ends with status 3 where it cannot be copied, because PostgreSQL's data had to be
 * put elsewhere.
 */
const { dataDir, postgresBin } = readConfig();
openDataFolder(dataDir);
const keys = loadKeys(dataDir);
const postgres = await runPostgres({
  dataDir,
  port: await freePort(),
  ownBin: postgresBin,
  password: keys.superuserPassword,
  tls: null,
  changed: () => undefined,
  say: (line) => console.error(line),
});
try {
  await migrateServices(await prepareDatabase(postgres.adminUrl, keys));
} finally {
  await postgres.supervised.stop(10_000);
}
// Suites kill servers, not the machine: what a server wrote outlives it without being forced to the disk, which each
// commit of a cluster would wait for.
const ownSettings = join(dataDir, "postgres", "data", "postgresql.auto.conf");
if (existsSync(ownSettings)) await appendFile(ownSettings, "fsync = off\nfull_page_writes = off\n");
await rm(join(dataDir, "logs"), { recursive: true, force: true });
if (existsSync(join(dataDir, "postgres.place"))) process.exitCode = 3;
