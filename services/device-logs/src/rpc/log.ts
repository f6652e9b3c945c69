import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, type CallContext, clampPage, type Page, validationError } from "@muster/kit";
import { PageInfoSchema } from "@muster/proto/muster/common/v1/page_pb";
import {
  type AgentLog,
  AgentLogSchema,
  type DeviceEvent,
  DeviceEventSchema,
  type DeviceLogService,
} from "@muster/proto/muster/devicelogs/v1/log_pb";
import { callContext } from "@muster/rpc";
import { requirePermission } from "@muster/service";
import { agentLogLevels, eventCategories, eventLevels } from "../rules/entries.ts";
import type { DeviceCopy } from "../store/device-copy.ts";
import {
  type AgentLogRow,
  type EventRow,
  type Filter,
  type LogPage,
  queryAgentLogs,
  queryEvents,
} from "../store/logs.ts";
import { type AppendDeps, appends } from "./append.ts";

export type LogDeps = AppendDeps & {
  devices: DeviceCopy;
  /** Milliseconds a query may take. */
  queryTimeoutMs: number;
};

/** Most rows of a page, of agent logs and of events. */
const maxAgentLogPage = 1_000;
const maxEventPage = 500;

/** Stored logs: written by agents for their own device, read by callers who may read the device. */
export function deviceLogService(deps: LogDeps): ServiceImpl<typeof DeviceLogService> {
  const { db, devices } = deps;
  return {
    ...appends(deps),

    async listAgentLogs(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "devices:read");
      const unknown = request.levels.filter((level) => !agentLogLevels.some((each) => each === level));
      if (unknown.length > 0) throw validationError({ level: [`Must be of ${agentLogLevels.join(", ")}`] });
      const device = await devices.find(context, request.deviceId);
      const { component, search, levels } = request;
      const range = { from: dateOf(request.since), to: dateOf(request.until) };
      const filter: Filter = { ...anything, deviceId: device.id, levels, component, search, ...range };
      const page = clampPage(request.page ?? {}, maxAgentLogPage);
      const listed = await inTime(deps, context, (who) => queryAgentLogs(db, who, filter, page));
      return { logs: listed.rows.map(agentLogMessage), page: pageInfo(page, listed) };
    },

    async listEvents(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "devices:read");
      const { category, level, source } = request;
      checkOneOf("category", category, eventCategories);
      checkOneOf("level", level, eventLevels);
      const device = await devices.find(context, request.deviceId);
      const range = { from: dateOf(request.from), to: dateOf(request.to) };
      const levels = level === "" ? [] : [level];
      const filter: Filter = { ...anything, deviceId: device.id, category, levels, source, ...range };
      const page = clampPage(request.page ?? {}, maxEventPage);
      const listed = await inTime(deps, context, (who) => queryEvents(db, who, filter, page));
      return { events: listed.rows.map(eventMessage), page: pageInfo(page, listed) };
    },
  };
}

const anything = { levels: [], component: "", category: "", source: "", search: "", from: null, to: null };

/** Runs a query with its own timeout. Throws `time_range_too_wide` when the timeout ended it. */
async function inTime<T>(deps: LogDeps, context: CallContext, run: (who: CallContext) => Promise<T>): Promise<T> {
  const ownMs = performance.now() + deps.queryTimeoutMs;
  try {
    return await run({ ...context, deadlineMs: Math.min(context.deadlineMs ?? ownMs, ownMs) });
  } catch (error) {
    const outOfTime =
      error instanceof AppError && error.code === "deadline_exceeded" && performance.now() >= ownMs - 50;
    if (!outOfTime) throw error;
    throw new AppError("time_range_too_wide", "The query takes too long: narrow the time range", { cause: error });
  }
}

function checkOneOf(field: string, value: string, allowed: readonly string[]): void {
  if (value !== "" && !allowed.includes(value))
    throw validationError({ [field]: [`Must be one of ${allowed.join(", ")}`] });
}

function agentLogMessage(row: AgentLogRow): AgentLog {
  return create(AgentLogSchema, {
    id: row.id,
    deviceId: row.device_id,
    orgId: row.org_id,
    timestamp: timestampFromDate(row.claimed_timestamp ?? row.timestamp),
    level: row.level,
    component: row.component,
    message: row.message,
    fieldsJson: row.fields ?? "",
    agentVersion: row.agent_version ?? "",
    createdAt: timestampFromDate(row.created_at),
  });
}

function eventMessage(row: EventRow): DeviceEvent {
  return create(DeviceEventSchema, {
    id: row.id,
    deviceId: row.device_id,
    orgId: row.org_id,
    timestamp: timestampFromDate(row.claimed_timestamp ?? row.timestamp),
    level: row.level,
    category: row.category,
    source: row.source,
    eventId: row.event_id ?? "",
    message: row.message,
    detailsJson: row.details ?? "",
    createdAt: timestampFromDate(row.created_at),
  });
}

function dateOf(timestamp: Timestamp | undefined): Date | null {
  return timestamp === undefined ? null : timestampDate(timestamp);
}

function pageInfo(page: Page, { total, totalIsEstimate, nextCursor }: Omit<LogPage<unknown>, "rows">) {
  return create(PageInfoSchema, {
    page: page.page,
    limit: page.limit,
    nextCursor,
    totalIsEstimate,
    ...(total === null ? {} : { total: BigInt(total) }),
  });
}
