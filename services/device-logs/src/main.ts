import type { Relay } from "@muster/bus";
import { LiveLogService } from "@muster/proto/muster/devicelogs/v1/live_pb";
import { DeviceLogService } from "@muster/proto/muster/devicelogs/v1/log_pb";
import { register } from "@muster/rpc";
import { requestPurge, runService, startPurges } from "@muster/service";
import { tenancyDevices } from "./clients/tenancy-devices.ts";
import { migrations, settings, version } from "./config.ts";
import { startMaintenance } from "./jobs/retention.ts";
import { liveLogService } from "./rpc/live.ts";
import { deviceLogService } from "./rpc/log.ts";
import { floodControl } from "./rules/flood.ts";
import { liveSlots } from "./rules/live-slots.ts";
import { logAppender } from "./store/appender.ts";
import { deviceCopy } from "./store/device-copy.ts";
import { applyDevices } from "./store/devices.ts";
import { purgePlan } from "./store/purge.ts";

await runService({
  name: "device-logs",
  version,
  settings,
  migrations,
  tenantCopy: { onDevices: applyDevices, onPurged: requestPurge },
  async start({ db, config, process, onBus }) {
    const now = () => new Date();
    const { log } = process;
    const tenancy = tenancyDevices({
      baseUrls: config.TENANCY_URL,
      privateKeys: config.CALLER_PRIVATE_KEYS,
    });
    process.onStop("tenancy client for devices", () => tenancy.close());
    const devices = deviceCopy({ db, query: tenancy.query, log, now });
    const maintenance = startMaintenance({
      db,
      log,
      agentLogDays: config.AGENT_LOG_RETENTION_DAYS,
      eventLogDays: config.EVENT_LOG_RETENTION_DAYS,
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
    const stored = { db, devices, appender: logAppender(db), flood, queryTimeoutMs: config.LOG_QUERY_TIMEOUT_MS, now };
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
    return [register(DeviceLogService, deviceLogService(stored)), register(LiveLogService, liveLogService(live))];
  },
});
