import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, Tx } from "@muster/db";
import { AppError, type CallContext } from "@muster/kit";
import { type LogQuota, LogQuotaSchema } from "@muster/proto/muster/devicelogs/v1/limit_pb";
import {
  type DeviceLogService,
  type RefusedEntry,
  RefusedEntrySchema,
} from "@muster/proto/muster/devicelogs/v1/log_pb";
import { callContext } from "@muster/rpc";
import { auditEvent } from "@muster/service";
import type { LogQuotas, QuotaLeft } from "../commands/log-quotas.ts";
import {
  type EventEntry,
  type RefusedEntry as Refused,
  readAgentLogs,
  readEvents,
  replacedUtf8,
} from "../rules/entries.ts";
import type { FloodControl } from "../rules/flood.ts";
import { logRequestOf } from "../rules/log-request.ts";
import { otlpEntries } from "../rules/otlp-entries.ts";
import { readOtlp } from "../rules/otlp-request.ts";
import type { Appender } from "../store/appender.ts";
import { appendEvents, type Owner } from "../store/logs.ts";

type Appends = Pick<ServiceImpl<typeof DeviceLogService>, "appendAgentLogs" | "appendOtlpLogs" | "appendEvents">;

export type AppendDeps = {
  db: Database;
  appender: Appender;
  flood: FloodControl;
  quotas: Pick<LogQuotas, "admit" | "count">;
  now: () => Date;
};

/** What agents write, each for its own device. */
export function appends({ db, appender, flood, quotas, now }: AppendDeps): Appends {
  return {
    async appendAgentLogs({ deviceId, bodyJson, ndjson }, handler) {
      const context = callContext(handler);
      const owner = ownDevice(context, deviceId);
      const { entries, refused } = readAgentLogs(bodyJson, ndjson ? "ndjson" : "json");
      flood.admit(deviceId, entries.length + refused.length, bodyJson.length);
      await quotas.admit(owner);
      const request = logRequestOf(bodyJson, context.meta.idempotencyKey ?? null);
      await appender.append({ owner, entries, request });
      const quota = await quotas.count(owner, entries.length, bodyJson.length);
      return { received: entries.length, refused: refused.map(refusedMessage), quota: quotaMessage(quota) };
    },

    async appendOtlpLogs({ deviceId, body, json }, handler) {
      const context = callContext(handler);
      const owner = ownDevice(context, deviceId);
      // Of the bytes as they came: reading them mends their UTF-8.
      const request = logRequestOf(body, context.meta.idempotencyKey ?? null);
      const read = readOtlp(body, json ? "json" : "protobuf");
      if (read.replaced > 0) replacedUtf8.inc(read.replaced);
      const { entries, refused, firstError, characters } = otlpEntries(read, now());
      const bytes = Math.max(characters, body.length);
      flood.admit(deviceId, entries.length + refused, bytes);
      await quotas.admit(owner);
      await appender.append({ owner, entries, request });
      const quota = await quotas.count(owner, entries.length, bytes);
      return { received: entries.length, refused, firstError, quota: quotaMessage(quota) };
    },

    async appendEvents({ deviceId, bodyJson }, handler) {
      const context = callContext(handler);
      const owner = ownDevice(context, deviceId);
      const entries = readEvents(bodyJson);
      flood.admit(deviceId, entries.length, bodyJson.length);
      await quotas.admit(owner);
      const at = now();
      const store = (tx: Tx) => storeEvents(tx, { context, owner, entries, at });
      const inserted = await db.tx(context, store, { retry: true });
      return { inserted, quota: quotaMessage(await quotas.count(owner, inserted, bodyJson.length)) };
    },
  };
}

type Events = { context: CallContext; owner: Owner; entries: readonly EventEntry[]; at: Date };

async function storeEvents(tx: Tx, { context, owner, entries, at }: Events): Promise<number> {
  const inserted = entries.length === 0 ? 0 : await appendEvents(tx, { owner, entries });
  const { deviceId, orgId, partnerId } = owner;
  const resource = { type: "device", id: deviceId, name: context.caller.actor.name };
  const details = { submitted: entries.length, inserted };
  const fact = { action: "agent.eventlogs.submit", resource, details, orgId, partnerId };
  tx.emit(auditEvent("device-logs", context, fact, at));
  return inserted;
}

/** An agent acts for its own device only. Throws `agent_not_found`. */
function ownDevice({ caller }: CallContext, deviceId: string): Owner {
  const { actor, orgId, partnerId } = caller;
  if (actor.type !== "agent" || actor.id !== deviceId || orgId === null || partnerId === null) {
    throw new AppError("agent_not_found", "Agent not found");
  }
  return { deviceId, orgId, partnerId };
}

function quotaMessage({ rows, bytes }: QuotaLeft): LogQuota {
  return create(LogQuotaSchema, {
    ...(rows === null ? {} : { rows: BigInt(rows) }),
    ...(bytes === null ? {} : { bytes: BigInt(bytes) }),
  });
}

function refusedMessage({ index, errors }: Refused): RefusedEntry {
  return create(RefusedEntrySchema, { index, errorsJson: JSON.stringify(errors) });
}
