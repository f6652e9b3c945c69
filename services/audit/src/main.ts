import type { Bus } from "@muster/bus";
import { openReplica, primaryReader } from "@muster/db";
import { noteKeys, secretBox } from "@muster/kit";
import { ExportService } from "@muster/proto/muster/audit/v1/export_pb";
import { AuditLogService } from "@muster/proto/muster/audit/v1/log_pb";
import { AuditProofService } from "@muster/proto/muster/audit/v1/proof_pb";
import { ReportService } from "@muster/proto/muster/audit/v1/report_pb";
import { RetentionService } from "@muster/proto/muster/audit/v1/retention_pb";
import { StreamService } from "@muster/proto/muster/audit/v1/stream_pb";
import { register } from "@muster/rpc";
import { encryptionKeys, runService } from "@muster/service";
import { openArchive } from "./clients/archive/open.ts";
import { checkpointsOutside } from "./clients/checkpoint-copies.ts";
import { webhookPushes } from "./clients/webhook-pushes.ts";
import { copySettings, migrations, settings, streamStorage, version, withheld } from "./config.ts";
import { startSealer } from "./events/sealer.ts";
import { startCheckpointer } from "./jobs/checkpointer.ts";
import { startStreamer } from "./jobs/streamer.ts";
import { startVerifier } from "./jobs/verifier.ts";
import { exportService } from "./rpc/export.ts";
import { auditLogService } from "./rpc/log.ts";
import { auditProofService } from "./rpc/proof.ts";
import { reportService } from "./rpc/report.ts";
import { retentionService } from "./rpc/retention.ts";
import { streamService } from "./rpc/stream.ts";
import { sealedColumns, secretPurposes } from "./store/sealed-columns.ts";

await runService({
  name: "audit",
  version,
  settings,
  migrations,
  withheld,
  tenantCopy: {},
  sealed: sealedColumns,
  async start({ db, config, learnTenants, process, onBus }) {
    const { log } = process;
    const now = () => new Date();
    const { signer, verifiers } = noteKeys(config.CHECKPOINT_PRIVATE_KEY);
    const deployment = config.DEPLOYMENT_NAME;
    log.info({ deployment, keys: verifiers.map(({ text }) => text) }, "checkpoint keys");

    const objects = await openArchive(copySettings(config));
    if (objects) process.onStop("copies of checkpoints", () => objects.close());

    let bus: Bus | null = null;
    const lockDays = config.CHECKPOINT_LOCK_DAYS;
    const outside = checkpointsOutside({ bus: () => bus, objects, log, now, lockDays });
    onBus(async (opened) => {
      bus = opened;
      return startSealer(opened, {
        db,
        log,
        now,
        batchRows: config.SEAL_BATCH_ROWS,
        batchBytes: config.SEAL_BATCH_BYTES,
        concurrency: config.SEAL_CONCURRENCY,
      });
    });

    const checkpointer = startCheckpointer({
      db,
      log,
      now,
      signer,
      verifiers,
      deployment,
      outside,
      intervalSeconds: config.CHECKPOINT_INTERVAL_SECONDS,
      rows: config.CHECKPOINT_ROWS,
      anchorSeconds: config.ANCHOR_INTERVAL_SECONDS,
      copies: objects,
      lockDays,
    });
    process.onStop("checkpointer", () => checkpointer.stop());
    const { copies } = outside;
    const verifier = startVerifier({ db, log, trust: { verifiers, deployment }, copies });
    process.onStop("verifier", () => verifier.stop());

    const pushes = webhookPushes({
      baseUrls: config.WEBHOOK_DISPATCHER_URL,
      privateKeys: config.CALLER_PRIVATE_KEYS,
    });
    process.onStop("connections to the dispatcher", () => pushes.close());
    const storage = await openArchive(streamStorage(config));
    if (storage) process.onStop("storage of streams", () => storage.close());
    const box = secretBox(encryptionKeys(config), secretPurposes.streams);
    const replyBox = secretBox(encryptionKeys(config), secretPurposes.replies);
    const streamer = startStreamer({
      db,
      log,
      now,
      box,
      pushes,
      archive: storage,
      concurrency: config.STREAM_CONCURRENCY,
      failedAfterHours: config.STREAM_FAILED_AFTER_HOURS,
      pollMs: config.STREAM_POLL_MS,
    });
    process.onStop("streamer", () => streamer.stop());
    const replica = config.DATABASE_URL_READ
      ? openReplica({
          url: config.DATABASE_URL_READ,
          primary: db,
          max: config.EXPORT_CONCURRENCY + config.REPORT_CONCURRENCY + 1,
          log,
          maxLagMs: config.DATABASE_READ_MAX_LAG_SECONDS * 1_000,
        })
      : null;
    if (replica) {
      process.onStop("read replica", () => replica.stop());
      process.readiness.addCheck("read replica", () => replica.state());
    }
    const longReads = replica ?? primaryReader(db);
    const reader = { db, learnTenants };
    const streaming = {
      ...reader,
      now,
      box,
      replyBox,
      pushes,
      archive: storage,
      mfaMaxAgeMinutes: config.MFA_MAX_AGE_MINUTES,
      streamsPerOrganization: config.STREAMS_PER_ORGANIZATION,
    };

    const reading = {
      ...reader,
      searchBudgetMs: config.SEARCH_BUDGET_MS,
      searchConcurrency: config.SEARCH_CONCURRENCY,
    };
    return [
      register(AuditLogService, auditLogService(reading)),
      register(
        ExportService,
        exportService({
          ...reader,
          longReads,
          exportConcurrency: config.EXPORT_CONCURRENCY,
          deployment,
          signer,
          verifiers,
          now,
          copies,
        }),
      ),
      register(
        ReportService,
        reportService({
          ...reader,
          longReads,
          reportBudgetMs: config.REPORT_BUDGET_MS,
          reportConcurrency: config.REPORT_CONCURRENCY,
          now,
        }),
      ),
      register(RetentionService, retentionService({ ...reader, mfaMaxAgeMinutes: config.MFA_MAX_AGE_MINUTES, now })),
      register(StreamService, streamService(streaming)),
      register(AuditProofService, auditProofService({ ...reader, verifiers, queued: () => verifier.wake() })),
    ];
  },
});
