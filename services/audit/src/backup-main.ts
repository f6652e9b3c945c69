import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { createLogger, flag, processSettings, startConfig, webUrl, whole } from "@muster/kit";
import { z } from "zod";
import { s3Backups } from "./clients/backups.ts";
import { newestBackup } from "./rules/backup.ts";

/** What the chart sets of `backup`, and of Secret `<prefix>-backup`. */
const settings = {
  LOG_LEVEL: processSettings.LOG_LEVEL,
  BACKUP_DIR: z.string().min(1),
  BACKUP_KEEP: whole(7, 1, 100_000),
  BACKUP_S3_BUCKET: z.string().min(1),
  BACKUP_S3_PREFIX: z
    .string()
    .regex(/^([A-Za-z0-9._-]+\/)*$/, "Must be empty or end in a slash")
    .default(""),
  BACKUP_S3_ENDPOINT: webUrl().optional(),
  BACKUP_S3_REGION: z.string().default("us-east-1"),
  BACKUP_S3_PATH_STYLE: flag(false),
  BACKUP_S3_ACCESS_KEY_ID: z.string().optional(),
  BACKUP_S3_SECRET_ACCESS_KEY: z.string().optional(),
};

/**
 * Uploads the newest dump of a directory to a bucket and removes older ones from it (the chart's `backup.s3`). Ends
 * with 1, and removes nothing, when the dump was not stored.
 */
async function main(): Promise<void> {
  const config = startConfig("backup", z.object(settings));
  if (!config) return;
  const log = createLogger("backup", config.LOG_LEVEL);
  const { BACKUP_S3_ACCESS_KEY_ID: accessKeyId, BACKUP_S3_SECRET_ACCESS_KEY: secretAccessKey } = config;
  const backups = s3Backups({
    bucket: config.BACKUP_S3_BUCKET,
    prefix: config.BACKUP_S3_PREFIX,
    region: config.BACKUP_S3_REGION,
    endpoint: config.BACKUP_S3_ENDPOINT ?? null,
    pathStyle: config.BACKUP_S3_PATH_STYLE,
    credentials: accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : null,
  });
  try {
    const name = newestBackup(await readdir(config.BACKUP_DIR));
    if (name === null) throw new Error(`${config.BACKUP_DIR} has no backup`);
    const path = join(config.BACKUP_DIR, name);
    const { size } = await stat(path);
    await backups.put(name, path, size);
    log.info({ storage: backups.name, name, bytes: size }, "backup stored");
    const removed = await backups.prune(config.BACKUP_KEEP);
    log.info({ removed }, "older backups removed");
  } catch (err) {
    log.fatal({ err, storage: backups.name }, "backup not stored, or older ones not removed");
    process.exitCode = 1;
  } finally {
    backups.close();
  }
}

await main();
