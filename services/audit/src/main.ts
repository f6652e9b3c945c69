import { AuditLogService } from "@muster/proto/muster/audit/v1/log_pb";
import { register } from "@muster/rpc";
import { runService } from "@muster/service";
import { migrations, settings, version, withheld } from "./config.ts";
import { startSealer } from "./events/sealer.ts";
import { auditLogService } from "./rpc/log.ts";

await runService({
  name: "audit",
  version,
  settings,
  migrations,
  withheld,
  tenantCopy: {},
  async start({ db, config, process, onBus }) {
    onBus((bus) =>
      startSealer(bus, {
        db,
        log: process.log,
        now: () => new Date(),
        batchRows: config.SEAL_BATCH_ROWS,
        batchBytes: config.SEAL_BATCH_BYTES,
      }),
    );
    const reading = { db, searchBudgetMs: config.SEARCH_BUDGET_MS, searchSlots: config.SEARCH_SLOTS };
    return [register(AuditLogService, auditLogService(reading))];
  },
});
