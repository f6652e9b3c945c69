import type { ServiceImpl } from "@connectrpc/connect";
import type { Database } from "@muster/db";
import { AppError, type Caller, isUuid, longerThan, systemCaller, validationError } from "@muster/kit";
import type {
  BeganUpdate,
  DeviceUpdateState,
  Heartbeat,
  PresenceService,
} from "@muster/proto/muster/tenancy/v1/presence_pb";
import { callContext } from "@muster/rpc";
import { beginUpdates, endUpdates } from "../commands/begin-updates.ts";
import { type ReceivedHeartbeat, recordHeartbeats } from "../commands/record-heartbeats.ts";
import { deviceArchitectures, deviceLibcs, deviceSystems, isHostname, updateStates } from "../rules/device.ts";
import type { MetricSink } from "../rules/metric-hours.ts";
import { maxReportedBytes } from "../rules/presence.ts";
import { storeUpdateStates } from "../store/presence.ts";

type Deps = { db: Database; heartbeatIntervalSeconds: number; metrics: MetricSink };

const batchMax = 500;

/** Agents' reports about their devices, as gateways forward them. */
export function presenceService({ db, heartbeatIntervalSeconds, metrics }: Deps): ServiceImpl<typeof PresenceService> {
  return {
    async recordHeartbeats({ heartbeats }, handler) {
      const { actor } = callContext(handler).caller;
      if (actor.type !== "system" || actor.id !== "gateway") {
        throw new AppError("permission_denied", "Only gateways may report heartbeats");
      }
      if (heartbeats.length > batchMax) throw validationError({ heartbeats: [`At most ${batchMax}`] });
      const recorded = await recordHeartbeats(db, heartbeats.map(heartbeatOf), heartbeatIntervalSeconds);
      heartbeats.forEach((heartbeat, at) => {
        if (served.includes(recorded[at]?.status ?? "")) addMetrics(metrics, heartbeat);
      });
      const results = recorded.map((device) => ({
        status: device?.status ?? "",
        ...(device?.facts ? { facts: { ...device.facts, version: BigInt(device.facts.version) } } : {}),
      }));
      return { results, heartbeatIntervalSeconds };
    },

    async beginUpdates({ updates }, handler) {
      const { caller, meta } = callContext(handler);
      requireAgentRelease(caller);
      if (updates.length > batchMax || !updates.every(isUpdate)) {
        throw validationError({ updates: [`At most ${batchMax} updates of devices`] });
      }
      return { deviceIds: await beginUpdates(db, meta, updates) };
    },

    async recordUpdateStates({ states }, handler) {
      const { actor } = callContext(handler).caller;
      if (actor.type !== "system" || actor.id !== "gateway") {
        throw new AppError("permission_denied", "Only gateways may report update states");
      }
      if (states.length > batchMax || !states.every(isState)) {
        throw validationError({ states: [`At most ${batchMax} states of devices`] });
      }
      await db.tx({ caller: systemCaller("tenancy") }, (tx) => storeUpdateStates(tx, states), { retry: true });
      return {};
    },

    async endUpdates({ deviceIds }, handler) {
      const { caller, meta } = callContext(handler);
      requireAgentRelease(caller);
      if (deviceIds.length > batchMax || !deviceIds.every(isUuid)) {
        throw validationError({ deviceIds: [`At most ${batchMax} ids of devices`] });
      }
      await endUpdates(db, meta, deviceIds, heartbeatIntervalSeconds);
      return {};
    },
  };
}

/** Statuses of devices that a heartbeat was stored for. */
const served = ["online", "updating", "quarantined"];

function addMetrics(metrics: MetricSink, { deviceId, cpuPercent, memoryPercent, diskPercent }: Heartbeat): void {
  if (cpuPercent === undefined && memoryPercent === undefined && diskPercent === undefined) return;
  const sample = { cpu: cpuPercent ?? null, memory: memoryPercent ?? null, disk: diskPercent ?? null };
  metrics.add(deviceId.toLowerCase(), sample);
}

function requireAgentRelease({ actor }: Caller): void {
  if (actor.type !== "system" || actor.id !== "agent-release") {
    throw new AppError("permission_denied", "Only agent-release may report updates");
  }
}

function isState({ deviceId, state }: DeviceUpdateState): boolean {
  return isUuid(deviceId) && (state === "" || updateStates.some((each) => each === state));
}

function isUpdate({ deviceId, component, version, timeoutSeconds }: BeganUpdate): boolean {
  const isComponent = component === "agent" || component === "watchdog" || component === "helper";
  return isUuid(deviceId) && isComponent && version !== "" && !longerThan(version, 50) && timeoutSeconds > 0;
}

/**
 * One device that the gateway should not have admitted fails the whole call: it is an internal error, not an agent's.
 */
function heartbeatOf(message: Heartbeat): ReceivedHeartbeat {
  const { deviceId, orgId, agentVersion, watchdogVersion, helperVersion, reportedJson } = message;
  const isTooLong = [agentVersion, watchdogVersion, helperVersion].some((version) => longerThan(version, 50));
  const machine = machineFacts(message);
  if (
    !isUuid(deviceId) ||
    !isUuid(orgId) ||
    agentVersion === "" ||
    isTooLong ||
    machine === null ||
    Buffer.byteLength(reportedJson) > maxReportedBytes
  ) {
    throw validationError({ heartbeats: ["Not a heartbeat"] });
  }
  return {
    deviceId: deviceId.toLowerCase(),
    orgId: orgId.toLowerCase(),
    agentVersion,
    watchdogVersion: watchdogVersion || null,
    helperVersion: helperVersion || null,
    ...machine,
    updateEnded: message.updateEnded,
    wantedFacts: wantedOf(Number(message.knownVersion)),
    reportedJson: reportedJson || null,
    clientAddress: message.clientAddress || null,
    meta: {
      requestId: message.requestId,
      clientAddress: message.clientAddress || null,
      userAgent: message.userAgent || null,
      traceparent: null,
    },
  };
}

const wantedOf = (knownVersion: number): ReceivedHeartbeat["wantedFacts"] =>
  knownVersion === 0 ? "any" : knownVersion === -1 ? "none" : { otherThan: knownVersion };

/** What the agent reports of its machine; null when one of the values is impossible. */
function machineFacts({
  hostname,
  os,
  arch,
  libc,
}: Heartbeat): Pick<ReceivedHeartbeat, "hostname" | "os" | "arch" | "libc"> | null {
  const isListed = (value: string, list: readonly string[]) => value === "" || list.includes(value);
  if (!isListed(os, deviceSystems) || !isListed(arch, deviceArchitectures) || !isListed(libc, deviceLibcs)) return null;
  if (hostname !== "" && !isHostname(hostname)) return null;
  return { hostname: hostname || null, os: os || null, arch: arch || null, libc: libc || null };
}
