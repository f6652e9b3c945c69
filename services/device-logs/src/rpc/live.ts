import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database } from "@muster/db";
import { type CallContext, clampPage, longerThan, sleep, validationError } from "@muster/kit";
import {
  type EventLog,
  EventLogSchema,
  type LiveEvent,
  LiveEventSchema,
  type LiveLogService,
} from "@muster/proto/muster/devicelogs/v1/live_pb";
import { callContext } from "@muster/rpc";
import { auditEvent, requirePermission } from "@muster/service";
import { type LiveQueryDeps, liveQuery, type Question } from "../clients/live-query.ts";
import { messagesAfter } from "../rules/live-messages.ts";
import {
  type EventLogReply,
  type LiveEventReply,
  liveEventLevels,
  readEvent,
  readLiveEvents,
  readLog,
  readLogs,
} from "../rules/live-reply.ts";
import type { LiveSlots } from "../rules/live-slots.ts";
import type { DeviceCopy } from "../store/device-copy.ts";
import type { DeviceRow } from "../store/devices.ts";

export type LiveDeps = LiveQueryDeps & {
  db: Database;
  devices: DeviceCopy;
  slots: LiveSlots;
  /** Pause between two queries for a follower of a log. */
  followPauseMs: number;
  now: () => Date;
};

type DeviceQuery = Pick<Question, "operation" | "params">;

const maxNameLength = 512;
/** Records of one query for a follower of a log. */
const followedMost = 100;

type Handlers = ServiceImpl<typeof LiveLogService>;

/** Event logs read on the device itself. */
export function liveLogService(deps: LiveDeps): ServiceImpl<typeof LiveLogService> {
  return { ...eventLogs(deps), ...liveEvents(deps) };
}

function eventLogs(deps: LiveDeps): Pick<Handlers, "listEventLogs" | "getEventLog"> {
  return {
    async listEventLogs({ deviceId }, handler) {
      const context = admit(callContext(handler));
      const logs = await query(deps, context, deviceId, { operation: "eventlogs.list", params: {} }, readLogs);
      return { logs: logs.map(logMessage) };
    },

    async getEventLog({ deviceId, name }, handler) {
      const context = admit(callContext(handler));
      const params = { name: checkedName(name) };
      return { log: logMessage(await query(deps, context, deviceId, { operation: "eventlogs.get", params }, readLog)) };
    },
  };
}

function liveEvents(deps: LiveDeps): Pick<Handlers, "listLiveEvents" | "getLiveEvent" | "followLiveEvents"> {
  const { devices } = deps;
  return {
    async listLiveEvents(request, handler) {
      const context = admit(callContext(handler));
      const { level, source, startTime, endTime, eventId } = request;
      checkLevel(level);
      const { page, limit } = clampPage(request);
      const params = {
        name: checkedName(request.name),
        page,
        limit,
        ...(level === "" ? {} : { level }),
        ...(source === "" ? {} : { source }),
        ...(startTime === "" ? {} : { startTime }),
        ...(endTime === "" ? {} : { endTime }),
        ...(eventId === undefined ? {} : { eventId: Number(eventId) }),
      };
      const deviceQuery = { operation: "eventlogs.events", params } as const;
      const { events, total } = await query(deps, context, request.deviceId, deviceQuery, readLiveEvents);
      return { events: events.map(eventMessage), page, limit, total: BigInt(total) };
    },

    async getLiveEvent({ deviceId, name, recordId }, handler) {
      const context = admit(callContext(handler));
      const params = { name: checkedName(name), recordId: Number(recordId) };
      const event = await query(deps, context, deviceId, { operation: "eventlogs.event", params }, readEvent);
      return { event: eventMessage(event) };
    },

    async *followLiveEvents({ deviceId, level, source, eventId, afterRecordId, ...request }, handler) {
      const context = admit(callContext(handler));
      checkLevel(level);
      const filter = {
        name: checkedName(request.name),
        ...(level === "" ? {} : { level }),
        ...(source === "" ? {} : { source }),
        ...(eventId === undefined ? {} : { eventId: Number(eventId) }),
      };
      let after = afterRecordId === undefined ? null : Number(afterRecordId);
      for (let isFirst = true; ; isFirst = false) {
        // Read again each time: the device may have moved to another tenant, or be deleted.
        const device = await devices.find(context, deviceId);
        const params = { ...filter, page: 1, limit: after === null ? 1 : followedMost };
        const { events } = await queryDevice(
          deps,
          context,
          device,
          { operation: "eventlogs.events", params },
          readLiveEvents,
        );
        const unseen = messagesAfter(events, after, followedMost);
        if (isFirst)
          await noteAccess(deps, context, device, { operation: "eventlogs.events", params: { ...filter, after } });
        yield { events: unseen.events.map(eventMessage), skipped: unseen.isSkipped };
        after = unseen.after;
        await sleep(deps.followPauseMs, context.signal);
        if (context.signal.aborted) return;
      }
    },
  };
}

async function queryDevice<T>(
  deps: LiveDeps,
  context: CallContext,
  device: DeviceRow,
  { operation, params }: DeviceQuery,
  read: (bytes: Uint8Array) => T,
): Promise<T> {
  const { slots } = deps;
  const { actor } = context.caller;
  const release = slots.enter(device.id, device.org_id);
  const reply = await liveQuery(deps, {
    deviceId: device.id,
    operation,
    params,
    principal: { type: actor.type, id: actor.id },
    online: device.status === "online" || device.status === "updating",
    signal: context.signal,
  }).finally(release);
  return read(reply);
}

function noteAccess(
  { db, now }: LiveDeps,
  context: CallContext,
  device: DeviceRow,
  { operation, params }: DeviceQuery,
) {
  return db.tx(context, async (tx) => tx.emit(accessed(context, device, { operation, ...params }, now())));
}

/** Queries, parses the answer, and writes a `data.access` row before the answer is returned. */
async function query<T>(
  deps: LiveDeps,
  context: CallContext,
  deviceId: string,
  deviceQuery: DeviceQuery,
  read: (bytes: Uint8Array) => T,
): Promise<T> {
  const { devices } = deps;
  const device = await devices.find(context, deviceId);
  const answer = await queryDevice(deps, context, device, deviceQuery, read);
  await noteAccess(deps, context, device, deviceQuery);
  return answer;
}

function checkLevel(level: string): void {
  if (level === "" || liveEventLevels.some((each) => each === level)) return;
  throw validationError({ level: [`Must be one of ${liveEventLevels.join(", ")}`] });
}

function admit(context: CallContext): CallContext {
  requirePermission(context, "devices:read");
  return context;
}

function checkedName(name: string): string {
  const bad = name === "" || longerThan(name, maxNameLength) || name.includes("\0");
  if (bad) throw validationError({ name: [`Must be 1 to ${maxNameLength} characters`] });
  return name;
}

function accessed(context: CallContext, device: DeviceRow, details: Record<string, unknown>, at: Date) {
  const resource = { type: "device", id: device.id, name: null };
  const owner = { orgId: device.org_id, partnerId: device.partner_id };
  return auditEvent("device-logs", context, { action: "data.access", resource, details, ...owner }, at);
}

function logMessage(log: EventLogReply): EventLog {
  return create(EventLogSchema, {
    name: log.name,
    displayName: log.displayName,
    recordCount: BigInt(log.recordCount),
    maxSize: BigInt(log.maxSize),
    retentionDays: BigInt(log.retentionDays),
    lastWriteTime: log.lastWriteTime,
  });
}

function eventMessage({ recordId, eventId, user, rawXml, ...texts }: LiveEventReply): LiveEvent {
  return create(LiveEventSchema, {
    ...texts,
    recordId: BigInt(recordId),
    eventId: BigInt(eventId),
    ...(typeof user === "string" ? { user } : {}),
    ...(typeof rawXml === "string" ? { rawXml } : {}),
  });
}
