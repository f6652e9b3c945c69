import { fileURLToPath } from "node:url";
import { checkSchema, openDatabase } from "@muster/db";
import { noteKeys, redactConfig, runProcess, startConfig, uuidv7 } from "@muster/kit";
import { tenantMigrations } from "@muster/service";
import { z } from "zod";
import { openArchive } from "./clients/archive/open.ts";
import { migrations, prunerGrants, retentionSettings, version } from "./config.ts";
import { startRetention } from "./jobs/retention.ts";
import { retentionLease } from "./store/retention-lease.ts";

const leaseSeconds = 90;

/**
 * The retention worker: a separate process with its own database role and secrets. It has no port except the ops port,
 * and no message bus.
 */
async function main(): Promise<void> {
  const config = startConfig("audit-retention", z.object(retentionSettings));
  if (!config) return;
  await runProcess(
    {
      name: "audit-retention",
      version,
      level: config.LOG_LEVEL,
      opsHost: config.OPS_HOST,
      opsPort: config.OPS_PORT,
      drainDelayMs: config.DRAIN_DELAY_MS,
      drainGraceMs: config.DRAIN_GRACE_MS,
    },
    async (proc) => {
      const { log } = proc;
      log.info({ version, config: redactConfig(config) }, "starting");
      const { signer } = noteKeys(config.CHECKPOINT_PRIVATE_KEY);
      const archive = await openArchive(config);
      const url = config.DATABASE_URL_PRUNER;
      const dirs = [tenantMigrations, { label: "audit", path: fileURLToPath(migrations) }];
      await checkSchema({ url, service: "audit", dirs, log, grants: prunerGrants, exact: true });
      const db = openDatabase({
        url,
        max: 2,
        name: "audit-retention",
        log,
        prepare: config.DATABASE_PREPARED_STATEMENTS,
      });
      proc.onStop("database", () => db.close());
      proc.readiness.addCheck("postgresql", () => db.check());
      if (archive) proc.onStop("archive", () => archive.close());
      log.info({ archive: archive?.name ?? null }, "archive");
      const retention = startRetention(
        {
          db,
          archive,
          lease: retentionLease(db, uuidv7(), leaseSeconds),
          signer,
          deployment: config.DEPLOYMENT_NAME,
          log,
          defaultDays: config.RETENTION_DAYS_DEFAULT,
          chunkRows: config.RETENTION_CHUNK_ROWS,
          chunkBytes: config.RETENTION_CHUNK_BYTES,
          chainsPerRead: 500,
        },
        { intervalMs: config.RETENTION_INTERVAL_SECONDS * 1_000, retryMs: config.RETENTION_RETRY_SECONDS * 1_000 },
      );
      proc.onStop("retention", () => retention.stop());
      proc.readiness.addCheck("retention", () => retention.state());
      proc.ready({});
    },
  );
}

await main();
