import type { Bus } from "@muster/bus";
import { ExportService } from "@muster/proto/muster/audit/v1/export_pb";
import { AuditLogService } from "@muster/proto/muster/audit/v1/log_pb";
import { AuditProofService } from "@muster/proto/muster/audit/v1/proof_pb";
import { ReportService } from "@muster/proto/muster/audit/v1/report_pb";
import { RetentionService } from "@muster/proto/muster/audit/v1/retention_pb";
import { register } from "@muster/rpc";
import { runService } from "@muster/service";
import { openArchive } from "./archive/open.ts";
import { checkpointCopies } from "./checkpoint-copies.ts";
import { copySettings, migrations, settings, version, withheld } from "./config.ts";
import { startSealer } from "./events/sealer.ts";
import { startCheckpointer } from "./jobs/checkpointer.ts";
import { startVerifier } from "./jobs/verifier.ts";
import { exportService } from "./rpc/export.ts";
import { auditLogService } from "./rpc/log.ts";
import { auditProofService } from "./rpc/proof.ts";
import { reportService } from "./rpc/report.ts";
import { retentionService } from "./rpc/retention.ts";
import { noteKeys } from "./rules/signed-note.ts";

await runService({
  name: "audit",
  version,
  settings,
  migrations,
  withheld,
  tenantCopy: {},
  async start({ db, config, process, onBus }) {
    const { log } = process;
    const now = () => new Date();
    const { signer, verifiers } = noteKeys(config.CHECKPOINT_PRIVATE_KEY);
    const deployment = config.DEPLOYMENT_NAME;
    log.info({ deployment, keys: verifiers.map(({ text }) => text) }, "checkpoint keys");

    const outside = await openArchive(copySettings(config));
    if (outside) process.onStop("copies of checkpoints", () => outside.close());

    let bus: Bus | null = null;
    onBus(async (opened) => {
      bus = opened;
      return startSealer(opened, {
        db,
        log,
        now,
        batchRows: config.SEAL_BATCH_ROWS,
        batchBytes: config.SEAL_BATCH_BYTES,
      });
    });

    const checkpointer = startCheckpointer({
      db,
      log,
      now,
      signer,
      deployment,
      intervalSeconds: config.CHECKPOINT_INTERVAL_SECONDS,
      rows: config.CHECKPOINT_ROWS,
      anchorSeconds: config.ANCHOR_INTERVAL_SECONDS,
      copies: outside,
      lockDays: config.CHECKPOINT_LOCK_DAYS,
    });
    process.onStop("checkpointer", () => checkpointer.stop());
    const copies = checkpointCopies({ bus: () => bus, objects: outside, log });
    const verifier = startVerifier({ db, log, trust: { verifiers, deployment }, copies });
    process.onStop("verifier", () => verifier.stop());

    const reading = { db, searchBudgetMs: config.SEARCH_BUDGET_MS, searchSlots: config.SEARCH_SLOTS };
    return [
      register(AuditLogService, auditLogService(reading)),
      register(
        ExportService,
        exportService({ db, exportSlots: config.EXPORT_SLOTS, deployment, signer, verifiers, now, copies }),
      ),
      register(
        ReportService,
        reportService({ db, reportBudgetMs: config.REPORT_BUDGET_MS, reportSlots: config.REPORT_SLOTS, now }),
      ),
      register(RetentionService, retentionService({ db, mfaMaxAgeMinutes: config.MFA_MAX_AGE_MINUTES, now })),
      register(AuditProofService, auditProofService({ db, verifiers, queued: () => verifier.wake() })),
    ];
  },
});
