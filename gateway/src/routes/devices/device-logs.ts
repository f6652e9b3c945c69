import type { AgentLog, DeviceEvent } from "@muster/proto/muster/devicelogs/v1/log_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { renderedPage, withOpaque } from "../fields/opaque.ts";
import {
  idOut,
  idParams,
  listQuery,
  objectOut,
  only,
  pageOf,
  pagination,
  paginationOf,
  timeIn,
  timeOf,
  timeOut,
  timestampOf,
  valuesIn,
} from "../fields/schemas.ts";

const tag = "Device logs";
const access = { auth: "session", permission: "devices:read", keyScopes: ["logs:read"] } as const;
const errors = ["device_not_found", "time_range_too_wide"] as const;

const logLevel = z.enum(["debug", "info", "warn", "error"]);
const eventLevel = z.enum(["info", "warning", "error", "critical"]);
const eventCategory = z.enum(["security", "hardware", "application", "system"]);

const limitUpTo = (max: number) =>
  z
    .string()
    .optional()
    .meta({ description: `Rows a page, 1 to ${max}.`, default: "50", example: "50" });

const agentLog = z
  .object({
    id: idOut,
    deviceId: idOut,
    orgId: idOut,
    timestamp: timeOut,
    level: logLevel,
    component: z.string(),
    message: z.string(),
    fields: objectOut.nullable(),
    agentVersion: z.string().nullable(),
    createdAt: timeOut,
  })
  .meta({ id: "AgentLog" });

const deviceEvent = z
  .object({
    id: idOut,
    deviceId: idOut,
    orgId: idOut,
    timestamp: timeOut,
    level: eventLevel,
    category: eventCategory,
    source: z.string(),
    eventId: z.string().nullable(),
    message: z.string(),
    details: objectOut.nullable(),
    createdAt: timeOut,
  })
  .meta({ id: "DeviceEvent" });

const diagnosticLogs = route({
  method: "GET",
  path: "/devices/:id/diagnostic-logs",
  access,
  tag,
  summary: "Diagnostic logs of a device's agent, newest first",
  params: idParams,
  query: listQuery.extend({
    limit: limitUpTo(1_000),
    level: valuesIn(logLevel, 20).optional().meta({ description: only.oneOf }),
    component: z.string().max(100).optional().meta({ description: only.equal }),
    since: timeIn.optional(),
    until: timeIn.optional(),
    search: z
      .string()
      .max(1_000)
      .optional()
      .meta({ description: "Only records with a message that contains this text, ignoring case." }),
  }),
  reply: z.object({ data: z.array(agentLog), pagination }),
  errors,
  async handle({ params, query, rpc }, { services }) {
    const wanted = {
      deviceId: params.id,
      page: pageOf(query, 1_000),
      levels: query.level ?? [],
      component: query.component ?? "",
      ...withTime("since", query.since),
      ...withTime("until", query.until),
      search: query.search ?? "",
    };
    const reply = await services.deviceLogs.listAgentLogs(wanted, await rpc());
    return renderedPage(reply.logs.map(agentLogText), paginationOf(reply.page));
  },
});

const eventLogs = route({
  method: "GET",
  path: "/devices/:id/eventlogs",
  access,
  tag,
  summary: "Stored events of a device's own logs, newest first",
  params: idParams,
  query: listQuery.extend({
    limit: limitUpTo(500),
    category: eventCategory.optional().meta({ description: only.equal }),
    level: eventLevel.optional().meta({ description: only.equal }),
    source: z.string().max(255).optional().meta({ description: only.equal }),
    startDate: timeIn.optional(),
    endDate: timeIn.optional().meta({ description: "ISO 8601 time with offset; a date includes its whole day." }),
  }),
  reply: z.object({ data: z.array(deviceEvent), pagination }),
  errors,
  async handle({ params, query, rpc }, { services }) {
    const wanted = {
      deviceId: params.id,
      page: pageOf(query, 500),
      category: query.category ?? "",
      level: query.level ?? "",
      source: query.source ?? "",
      ...withTime("from", query.startDate),
      ...withTime("to", endOf(query.endDate)),
    };
    const reply = await services.deviceLogs.listEvents(wanted, await rpc());
    return renderedPage(reply.events.map(deviceEventText), paginationOf(reply.page));
  },
});

/** `endDate` may be a day: without a time it means the day's last moment. */
function endOf(text: string | undefined): string | undefined {
  return text !== undefined && /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T23:59:59.999Z` : text;
}

function withTime<N extends string>(name: N, text: string | undefined) {
  const timestamp = timestampOf(text);
  return (timestamp ? { [name]: timestamp } : {}) as { [K in N]?: NonNullable<typeof timestamp> };
}

function agentLogText(log: AgentLog): string {
  const shown: Omit<z.input<typeof agentLog>, "fields"> = {
    id: log.id,
    deviceId: log.deviceId,
    orgId: log.orgId,
    timestamp: timeOf(log.timestamp),
    level: logLevel.parse(log.level),
    component: log.component,
    message: log.message,
    agentVersion: log.agentVersion || null,
    createdAt: timeOf(log.createdAt),
  };
  return withOpaque(shown, "fields", log.fieldsJson || "null");
}

function deviceEventText(event: DeviceEvent): string {
  const shown: Omit<z.input<typeof deviceEvent>, "details"> = {
    id: event.id,
    deviceId: event.deviceId,
    orgId: event.orgId,
    timestamp: timeOf(event.timestamp),
    level: eventLevel.parse(event.level),
    category: eventCategory.parse(event.category),
    source: event.source,
    eventId: event.eventId || null,
    message: event.message,
    createdAt: timeOf(event.createdAt),
  };
  return withOpaque(shown, "details", event.detailsJson || "null");
}

export const deviceLogRoutes: readonly Route[] = [diagnosticLogs, eventLogs];
