import type { ServiceImpl } from "@connectrpc/connect";
import type { Database } from "@muster/db";
import { AppError, isUuid, validationError } from "@muster/kit";
import type { Heartbeat, PresenceService } from "@muster/proto/muster/tenancy/v1/presence_pb";
import { callContext } from "@muster/rpc";
import { recordHeartbeats, type ToldHeartbeat } from "../commands/record-heartbeats.ts";
import { maxReportedBytes } from "../rules/presence.ts";

type Deps = { db: Database; heartbeatIntervalSeconds: number };

const batchMax = 500;

/** What agents say of their devices, as gateways pass it on. */
export function presenceService({ db, heartbeatIntervalSeconds }: Deps): ServiceImpl<typeof PresenceService> {
  return {
    async recordHeartbeats({ heartbeats }, handler) {
      const { actor } = callContext(handler).caller;
      if (actor.type !== "system" || actor.id !== "gateway") {
        throw new AppError("permission_denied", "Only gateways may tell this");
      }
      if (heartbeats.length > batchMax) throw validationError({ heartbeats: [`At most ${batchMax}`] });
      const statuses = await recordHeartbeats(db, heartbeats.map(toldOf), heartbeatIntervalSeconds);
      return { results: statuses.map((status) => ({ status: status ?? "" })), heartbeatIntervalSeconds };
    },
  };
}

/** One that the gateway should not have let in spoils the whole call: it is a fault, not an agent's mistake. */
function toldOf(told: Heartbeat): ToldHeartbeat {
  const { deviceId, orgId, agentVersion, watchdogVersion, reportedJson } = told;
  const tooLong = agentVersion === "" || agentVersion.length > 50 || watchdogVersion.length > 50;
  if (!isUuid(deviceId) || !isUuid(orgId) || tooLong || Buffer.byteLength(reportedJson) > maxReportedBytes) {
    throw validationError({ heartbeats: ["Not a heartbeat"] });
  }
  return {
    deviceId: deviceId.toLowerCase(),
    orgId: orgId.toLowerCase(),
    agentVersion,
    watchdogVersion: watchdogVersion || null,
    reportedJson: reportedJson || null,
    clientAddress: told.clientAddress || null,
    meta: {
      requestId: told.requestId,
      clientAddress: told.clientAddress || null,
      userAgent: told.userAgent || null,
      traceparent: null,
    },
  };
}
