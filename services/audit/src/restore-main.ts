import { openBus } from "@muster/bus";
import { openDatabase } from "@muster/db";
import { busTls, createLogger, noteKeys, startConfig } from "@muster/kit";
import { z } from "zod";
import { openArchive } from "./clients/archive/open.ts";
import { checkpointsOutside } from "./clients/checkpoint-copies.ts";
import { declareRestore } from "./commands/declare-restore.ts";
import { copySettings, restoreSettings } from "./config.ts";

const usage = "usage: node dist/restore-main.js TIME   (to which the database went back, such as 2026-01-31T04:05:00Z)";
const patienceMs = 20_000;

/**
 * Declares that the database went back to a time (docs/operations/restore.md), with some of the audit service's
 * settings.
 */
async function main(): Promise<void> {
  const restoredTo = new Date(process.argv[2] ?? "");
  if (Number.isNaN(restoredTo.getTime())) {
    process.stderr.write(`${usage}\n`);
    process.exitCode = 2;
    return;
  }
  const config = startConfig("audit-restore", z.object(restoreSettings));
  if (!config) return;
  const log = createLogger("audit-restore", config.LOG_LEVEL);
  // The connection to NATS is retried without end, that to PostgreSQL is not: a command must not wait for NATS.
  const timer = setTimeout(() => {
    log.fatal("NATS did not answer: nothing was declared");
    process.exit(1);
  }, patienceMs);
  const { signer } = noteKeys(config.CHECKPOINT_PRIVATE_KEY);
  const bus = await openBus({
    servers: config.NATS_URL,
    seed: config.NATS_NKEY_SEED,
    name: "audit",
    replicas: config.NATS_STREAM_REPLICAS,
    tls: busTls(config),
    log,
  });
  await bus.ensureStream("CHECKPOINTS");
  const objects = await openArchive(copySettings(config));
  const db = openDatabase({ url: config.DATABASE_URL_APP, max: 1, name: "audit", log });
  try {
    const now = () => new Date();
    const outside = checkpointsOutside({ bus: () => bus, objects, log, now, lockDays: config.CHECKPOINT_LOCK_DAYS });
    const restore = await declareRestore({ db, outside, signer, deployment: config.DEPLOYMENT_NAME, now }, restoredTo);
    log.info({ ...restore, copies: objects?.name ?? null }, "restore declared");
  } catch (err) {
    log.fatal({ err }, "restore not declared");
    process.exitCode = 1;
  } finally {
    clearTimeout(timer);
    await Promise.all([db.close(), bus.close(), objects?.close()]);
  }
}

await main();
