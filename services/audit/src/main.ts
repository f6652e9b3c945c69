import type { Bus } from "@muster/bus";
import { openReplica, primaryReader } from "@muster/db";
import { noteKeys, repeatEvery, secretBox, type serviceSettings } from "@muster/kit";
import { AlertService } from "@muster/proto/muster/audit/v1/alert_pb";
import { AppendService } from "@muster/proto/muster/audit/v1/append_pb";
import { ExportJobService } from "@muster/proto/muster/audit/v1/export_job_pb";
import { ExportService } from "@muster/proto/muster/audit/v1/export_pb";
import { AuditLogService } from "@muster/proto/muster/audit/v1/log_pb";
import { AuditProofService } from "@muster/proto/muster/audit/v1/proof_pb";
import { ReportService } from "@muster/proto/muster/audit/v1/report_pb";
import { RetentionService } from "@muster/proto/muster/audit/v1/retention_pb";
import { StreamService } from "@muster/proto/muster/audit/v1/stream_pb";
import { AttentionService } from "@muster/proto/muster/common/v1/attention_pb";
import { register } from "@muster/rpc";
import { attentionService, encryptionKeys, notificationClient, runService, type ServiceContext } from "@muster/service";
import type { z } from "zod";
import { openArchive } from "./clients/archive/open.ts";
import { checkpointsOutside } from "./clients/checkpoint-copies.ts";
import { environmentCredentials, roles } from "./clients/role-credentials.ts";
import { webhookPushes } from "./clients/webhook-pushes.ts";
import { copySettings, migrations, settings, streamStorage, version, withheld } from "./config.ts";
import { startSealer } from "./events/sealer.ts";
import { startAlerter } from "./jobs/alerter.ts";
import { startCheckpointer } from "./jobs/checkpointer.ts";
import { startExporter } from "./jobs/exporter.ts";
import { startStreamer } from "./jobs/streamer.ts";
import { startVerifier } from "./jobs/verifier.ts";
import { alertService } from "./rpc/alert.ts";
import { appendService } from "./rpc/append.ts";
import { failingStreamSource } from "./rpc/attention.ts";
import { exportService } from "./rpc/export.ts";
import { exportJobService } from "./rpc/export-job.ts";
import { auditLogService } from "./rpc/log.ts";
import { auditProofService } from "./rpc/proof.ts";
import { reportService } from "./rpc/report.ts";
import { retentionService } from "./rpc/retention.ts";
import { streamService } from "./rpc/stream.ts";
import { removeOldAppended } from "./store/appended.ts";
import { removeExpiredParts } from "./store/export-parts.ts";
import { sealedColumns, secretPurposes } from "./store/sealed-columns.ts";

await runService({
  name: "audit",
  version,
  settings,
  migrations,
  withheld,
  tenantCopy: {},
  sealed: sealedColumns,
  async start(context) {
    const { config, process, db, learnTenants } = context;
    const now = () => new Date();
    const { signer, verifiers } = noteKeys(config.CHECKPOINT_PRIVATE_KEY);
    const deployment = config.DEPLOYMENT_NAME;
    process.log.info({ deployment, keys: verifiers.map(({ text }) => text) }, "checkpoint keys");
    const notes = { signer, verifiers, deployment, now };
    const { copies, verifier } = await startProofs(context, notes);
    const streams = await startStreams(context, now);
    const longReads = longReader(context);
    const reader = { db, learnTenants };
    const mfaMaxAgeMinutes = config.MFA_MAX_AGE_MINUTES;
    const exporting = { ...reader, ...notes, longReads, exportConcurrency: config.EXPORT_CONCURRENCY, copies };
    const reporting = {
      ...reader,
      longReads,
      reportBudgetMs: config.REPORT_BUDGET_MS,
      reportConcurrency: config.REPORT_CONCURRENCY,
      now,
    };
    const searching = {
      ...reader,
      searchBudgetMs: config.SEARCH_BUDGET_MS,
      searchConcurrency: config.SEARCH_CONCURRENCY,
    };
    const streaming = {
      ...reader,
      ...streams,
      now,
      mfaMaxAgeMinutes,
      streamsPerOrganization: config.STREAMS_PER_ORGANIZATION,
    };
    startAppendedCleanup(context, now);
    startAlerts(context, now);
    const alerting = { ...reader, now, mfaMaxAgeMinutes, alertsPerTenant: config.AUDIT_ALERTS_PER_TENANT };
    const exporter = startExports(context, { ...notes, copies });
    const exportJobs = {
      ...reader,
      now,
      exportsPerChain: config.AUDIT_EXPORTS_PER_CHAIN,
      queued: () => exporter.wake(),
    };
    const appending = { ...reader, now, appendedRowsPerDay: config.AUDIT_APPENDED_ROWS_PER_DAY };
    return [
      register(AlertService, alertService(alerting)),
      register(AppendService, appendService(appending)),
      register(AuditLogService, auditLogService(searching)),
      register(ExportService, exportService(exporting)),
      register(ExportJobService, exportJobService(exportJobs)),
      register(ReportService, reportService(reporting)),
      register(RetentionService, retentionService({ ...reader, mfaMaxAgeMinutes, now })),
      register(StreamService, streamService(streaming)),
      register(AttentionService, attentionService(db, [failingStreamSource])),
      register(AuditProofService, auditProofService({ ...reader, verifiers, queued: () => verifier.wake() })),
    ];
  },
});

type Context = ServiceContext<z.infer<z.ZodObject<typeof settings & typeof serviceSettings>>>;
type Notes = ReturnType<typeof noteKeys> & { deployment: string; now: () => Date };

/** Sealer, checkpoints with their copies outside, and the verifier of chains. */
async function startProofs({ db, config, process, onBus }: Context, notes: Notes) {
  const { log } = process;
  const { now, verifiers, deployment } = notes;
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
    ...notes,
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
  return { copies, verifier };
}

/** Streams of audit rows to webhooks and storage. */
async function startStreams({ db, config, process }: Context, now: () => Date) {
  const { log } = process;
  const pushes = webhookPushes({
    baseUrls: config.WEBHOOK_DISPATCHER_URL,
    privateKeys: config.CALLER_PRIVATE_KEYS,
  });
  process.onStop("connections to the dispatcher", () => pushes.close());
  const archive = await openArchive(streamStorage(config));
  if (archive) process.onStop("storage of streams", () => archive.close());
  const box = secretBox(encryptionKeys(config), secretPurposes.streams);
  const replyBox = secretBox(encryptionKeys(config), secretPurposes.replies);
  const byRole = config.AUDIT_S3_ROLES ? roles({ own: environmentCredentials, now }) : null;
  const sending = { box, pushes, archive, roles: byRole, deployment: config.DEPLOYMENT_NAME };
  const streamer = startStreamer({
    ...sending,
    db,
    log,
    now,
    concurrency: config.STREAM_CONCURRENCY,
    failedAfterHours: config.STREAM_FAILED_AFTER_HOURS,
    pollMs: config.STREAM_POLL_MS,
  });
  process.onStop("streamer", () => streamer.stop());
  return { ...sending, replyBox };
}

/** Alerts, where there is an identity to send them through. */
function startAlerts({ db, config, process }: Context, now: () => Date): void {
  const { log } = process;
  const { IDENTITY_URL: baseUrls, CALLER_PRIVATE_KEYS: privateKeys } = config;
  if (!baseUrls) {
    log.warn("no IDENTITY_URL: alerts of audit rows wait");
    return;
  }
  const identity = notificationClient({ service: "audit", baseUrls, privateKeys });
  process.onStop("connections to identity", () => identity.close());
  const alerter = startAlerter({ db, log, now, notifications: identity });
  process.onStop("alerts", () => alerter.stop());
}

/** Exports in parts, and the end of their parts. */
function startExports({ db, process }: Context, notes: Notes & { copies(chainId: string): Promise<string[]> }) {
  const { log } = process;
  const exporter = startExporter({ db, log, ...notes });
  process.onStop("exporter", () => exporter.stop());
  const cleanup = repeatEvery(
    600_000,
    () => removeExpiredParts(db),
    (err) => log.warn({ err }, "parts of expired exports not removed"),
  );
  process.onStop("cleanup of exports", () => cleanup.stop());
  return exporter;
}

/** Every ten minutes forgets the ids of appended events that the chain knows. */
function startAppendedCleanup({ db, process }: Context, now: () => Date): void {
  const cleanup = repeatEvery(
    600_000,
    () => removeOldAppended(db, now()),
    (err) => process.log.warn({ err }, "ids of appended events not cleaned up"),
  );
  process.onStop("cleanup of appended events", () => cleanup.stop());
}

/** Where exports and reports read: a replica where one is configured. */
function longReader({ db, config, process }: Context) {
  if (!config.DATABASE_URL_READ) return primaryReader(db);
  const replica = openReplica({
    url: config.DATABASE_URL_READ,
    primary: db,
    max: config.EXPORT_CONCURRENCY + config.REPORT_CONCURRENCY + 1,
    log: process.log,
    maxLagMs: config.DATABASE_READ_MAX_LAG_SECONDS * 1_000,
  });
  process.onStop("read replica", () => replica.stop());
  process.readiness.addCheck("read replica", () => replica.state());
  return replica;
}
