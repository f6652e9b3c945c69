import type { Relay } from "@muster/bus";
import { keepWorking } from "@muster/kit";
import { LogLimitService } from "@muster/proto/muster/devicelogs/v1/limit_pb";
import { LiveLogService } from "@muster/proto/muster/devicelogs/v1/live_pb";
import { DeviceLogService } from "@muster/proto/muster/devicelogs/v1/log_pb";
import { register } from "@muster/rpc";
import { requestPurge, runService, startPurges } from "@muster/service";
import { tenancyDevices } from "./clients/tenancy-devices.ts";
import { LogQuotas } from "./commands/log-quotas.ts";
import { migrations, settings, version } from "./config.ts";
import { startMaintenance } from "./jobs/retention.ts";
import { logLimitService } from "./rpc/limit.ts";
import { liveLogService } from "./rpc/live.ts";
import { deviceLogService } from "./rpc/log.ts";
import { floodControl } from "./rules/flood.ts";
import { liveSlots } from "./rules/live-slots.ts";
import { logAppender } from "./store/appender.ts";
import { deviceCopy } from "./store/device-copy.ts";
import { applyDevices } from "./store/devices.ts";
import { purgePlan } from "./store/purge.ts";

/** What a kill loses of the count, and an organization may send beyond its quota. */
const quotaEveryMs = 1_000;

await runService({
  name: "device-logs",
  version,
  settings,
  migrations,
  tenantCopy: { onDevices: applyDevices, onPurged: requestPurge },
  async start({ db, config, process, onBus, learnTenants }) {
    const now = () => new Date();
    const { log } = process;
    const tenancy = tenancyDevices({
      baseUrls: config.TENANCY_URL,
      privateKeys: config.CALLER_PRIVATE_KEYS,
    });
    process.onStop("tenancy client for devices", () => tenancy.close());
    const devices = deviceCopy({ db, query: tenancy.query, log, now });
    const platform = {
      rowsPerDay: config.ORGANIZATION_LOG_ROWS_PER_DAY || null,
      bytesPerDay: config.ORGANIZATION_LOG_MEBIBYTES_PER_DAY * 1_048_576 || null,
      agentLogDays: config.AGENT_LOG_RETENTION_DAYS,
      eventLogDays: config.EVENT_LOG_RETENTION_DAYS,
    };
    const quotas = new LogQuotas({ db, log, platform, now });
    const storing = keepWorking(
      quotaEveryMs,
      () => quotas.store(),
      (err) => log.warn({ err }, "log usage not stored, tried again in a second"),
    );
    process.onStop("log usage", async () => {
      await storing.stop();
      await quotas.store();
    });
    const maintenance = startMaintenance({
      db,
      log,
      platform,
      now,
    });
    process.onStop("partitions and retention", () => maintenance.stop());
    const purges = startPurges({ db, service: "device-logs", log, plan: purgePlan });
    process.onStop("purges", () => purges.stop());
    let relay: Relay | null = null;
    onBus(async (bus) => {
      relay = bus.relay;
      return undefined;
    });
    const flood = floodControl({ rowsPerMinute: config.DEVICE_LOG_ROWS_PER_MINUTE, nowMs: () => performance.now() });
    const stored = {
      db,
      devices,
      appender: logAppender(db),
      flood,
      quotas,
      queryTimeoutMs: config.LOG_QUERY_TIMEOUT_MS,
      now,
    };
    const slots = liveSlots({
      perOrganization: config.LIVE_QUERIES_PER_ORGANIZATION,
      all: config.LIVE_QUERY_CONCURRENCY,
    });
    const live = {
      db,
      devices,
      slots,
      relay: () => relay,
      timeoutMs: config.LIVE_QUERY_TIMEOUT_MS,
      followPauseMs: 2_000,
      now,
    };
    const limits = { db, learnTenants, platform, mfaMaxAgeMinutes: config.MFA_MAX_AGE_MINUTES, now };
    return [
      register(DeviceLogService, deviceLogService(stored)),
      register(LogLimitService, logLimitService(limits)),
      register(LiveLogService, liveLogService(live)),
    ];
  },
});
