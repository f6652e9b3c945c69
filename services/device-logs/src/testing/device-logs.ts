import { fileURLToPath } from "node:url";
import { create, fromBinary } from "@bufbuild/protobuf";
import type { Relay } from "@muster/bus";
import { sql } from "@muster/db";
import { AppError, type Caller, createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { LogLimitService } from "@muster/proto/muster/devicelogs/v1/limit_pb";
import { LiveLogService } from "@muster/proto/muster/devicelogs/v1/live_pb";
import { DeviceLogService } from "@muster/proto/muster/devicelogs/v1/log_pb";
import { type AuditEvent, AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { type DeviceChanged, DeviceChangedSchema } from "@muster/proto/muster/events/v1/tenancy_pb";
import { register } from "@muster/rpc";
import { tenantMigrations } from "@muster/service";
import { callers, type TestDatabase, testDatabase, testPort } from "@muster/testing";
import { LogQuotas } from "../commands/log-quotas.ts";
import { logLimitService } from "../rpc/limit.ts";
import { liveLogService } from "../rpc/live.ts";
import { deviceLogService } from "../rpc/log.ts";
import { floodControl } from "../rules/flood.ts";
import { liveSlots } from "../rules/live-slots.ts";
import type { EffectiveLimits } from "../rules/log-limits.ts";
import { logAppender } from "../store/appender.ts";
import { deviceCopy } from "../store/device-copy.ts";
import { applyDevices } from "../store/devices.ts";

export type TestDevice = { deviceId: string; orgId: string; partnerId: string; siteId: string };

/** The service on a real port and a real database; tenancy is a list of devices. */
export async function startDeviceLogs(
  options: {
    relay?: Relay;
    rowsPerMinute?: number;
    queryTimeoutMs?: number;
    liveTimeoutMs?: number;
    liveQueriesPerOrganization?: number;
    platform?: Partial<EffectiveLimits>;
    now?: () => Date;
  } = {},
) {
  const database: TestDatabase = await testDatabase({
    service: "device-logs",
    dirs: [
      tenantMigrations,
      { label: "device-logs", path: fileURLToPath(new URL("../../migrations/", import.meta.url)) },
    ],
  });
  const { db } = database;
  const now = options.now ?? (() => new Date());
  const platform = { rowsPerDay: null, bytesPerDay: null, agentLogDays: 30, eventLogDays: 90, ...options.platform };
  const newQuotas = () => new LogQuotas({ db, log: createLogger("test", "error"), platform, now });
  const quotas = newQuotas();
  const devicesOfTenancy = new Map<string, DeviceChanged>();
  let queries = 0;
  let tenancyIsAway = false;
  const query = async (ids: string[]) => {
    queries += 1;
    if (tenancyIsAway) throw new AppError("unavailable", "away");
    return ids.flatMap((id) => devicesOfTenancy.get(id) ?? []);
  };
  const devices = deviceCopy({ db, query, log: createLogger("test", "error"), now });
  const flood = floodControl({ rowsPerMinute: options.rowsPerMinute ?? 100_000, nowMs: () => performance.now() });
  const stored = {
    db,
    devices,
    appender: logAppender(db),
    flood,
    quotas,
    queryTimeoutMs: options.queryTimeoutMs ?? 3_000,
    now,
  };
  const slots = liveSlots({ perOrganization: options.liveQueriesPerOrganization ?? 64, all: 500 });
  const live = {
    db,
    devices,
    slots,
    relay: () => options.relay ?? null,
    timeoutMs: options.liveTimeoutMs ?? 30_000,
    followPauseMs: 50,
    now,
  };
  const limits = { db, learnTenants: async () => false, platform, mfaMaxAgeMinutes: 60, now };
  const port = await testPort("device-logs", [
    register(DeviceLogService, deviceLogService(stored)),
    register(LogLimitService, logLimitService(limits)),
    register(LiveLogService, liveLogService(live)),
  ]);
  const system = { caller: systemCaller("device-logs") };

  return {
    database,
    port,
    platform,
    /** Of the service; and those of another process. */
    quotas,
    newQuotas,
    limits: (caller: Caller) => port.client(LogLimitService, caller),
    agentOf: ({ deviceId, orgId, partnerId }: TestDevice): Caller =>
      callers.orgAdmin(partnerId, orgId, { actor: { type: "agent", id: deviceId, email: null }, permissions: [] }),
    readerOf: ({ orgId, partnerId }: TestDevice, change: Partial<Caller> = {}): Caller =>
      callers.orgAdmin(partnerId, orgId, { permissions: ["devices:read"], ...change }),
    /** The entries of the two appends as objects. */
    logs(caller: Caller) {
      const client = port.client(DeviceLogService, caller);
      return {
        listAgentLogs: client.listAgentLogs,
        listEvents: client.listEvents,
        appendAgentLogs: ({ deviceId, logs, key }: { deviceId: string; logs: unknown; key?: string }) =>
          port
            .client(DeviceLogService, caller, key === undefined ? {} : { idempotencyKey: key })
            .appendAgentLogs({ deviceId, bodyJson: Buffer.from(JSON.stringify({ logs })) }),
        appendEvents: ({ deviceId, events }: { deviceId: string; events: unknown }) =>
          client.appendEvents({ deviceId, bodyJson: Buffer.from(JSON.stringify({ events })) }),
      };
    },
    live: (caller: Caller) => port.client(LiveLogService, caller),
    /** A device that tenancy has; the copy receives it only when the test sends it. */
    device(change: Partial<TestDevice & { status: string }> = {}): TestDevice {
      const device = { deviceId: uuidv7(), orgId: uuidv7(), partnerId: uuidv7(), siteId: uuidv7(), ...change };
      devicesOfTenancy.set(device.deviceId, deviceChanged(device, 1n, change.status ?? "online"));
      return device;
    },
    async applyDevice(device: TestDevice, version: bigint, status = "online"): Promise<void> {
      await db.tx(system, (tx) => applyDevices(tx, [deviceChanged(device, version, status)]));
    },
    tenancy: {
      get queries() {
        return queries;
      },
      set isAway(away: boolean) {
        tenancyIsAway = away;
      },
    },
    async auditsOf(resourceId: string): Promise<AuditEvent[]> {
      const rows = await db.read<{ body: Buffer }>(system, sql`SELECT body FROM outbox ORDER BY id`);
      return rows
        .map(({ body }) => fromBinary(AuditEventSchema, body))
        .filter((audit) => audit.resourceId === resourceId);
    },
    async count(table: "agent_log" | "event_log", deviceId: string): Promise<number> {
      const name = table === "agent_log" ? sql`agent_log` : sql`event_log`;
      const [row] = await db.read<{ n: number }>(
        system,
        sql`SELECT count(*) AS n FROM ${name} WHERE device_id = ${deviceId}::uuid`,
      );
      return row?.n ?? 0;
    },
    async stop() {
      await port.close();
      await database.drop();
    },
  };
}

export type TestDeviceLogs = Awaited<ReturnType<typeof startDeviceLogs>>;

function deviceChanged({ deviceId, ...owner }: TestDevice, version: bigint, status: string): DeviceChanged {
  return create(DeviceChangedSchema, { id: deviceId, ...owner, version, status });
}

export const aLog = (change: object = {}) => ({
  timestamp: new Date().toISOString(),
  level: "info",
  component: "updater",
  message: "checked for updates",
  ...change,
});

export const anEvent = (change: object = {}) => ({
  timestamp: new Date().toISOString(),
  level: "error",
  category: "system",
  source: "Service Control Manager",
  eventId: "7036",
  message: "a service stopped",
  ...change,
});
