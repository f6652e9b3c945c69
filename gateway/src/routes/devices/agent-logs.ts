import type { LogQuota } from "@muster/proto/muster/devicelogs/v1/limit_pb";
import { z } from "zod";
import { EdgeError } from "../../errors.ts";
import { jsonMediaType } from "../../http/media-type.ts";
import { Answered, Rendered } from "../../route/reply.ts";
import { type Route, route } from "../../route/route.ts";
import { exampleTime, idParams, objectIn, success } from "../fields/schemas.ts";

const tag = "Agents";
const access = { auth: "agent" } as const;

export const bodyLimitBytes = 4 * 1024 * 1024;

/** By the device's own clock, which may be wrong by any measure. */
const deviceTime = z.iso
  .datetime({ offset: true, message: "Must be an ISO 8601 time" })
  .meta({ description: "ISO 8601 time with offset." });

const message = z.string().max(65_536);

const logEntry = z
  .object({
    timestamp: deviceTime,
    level: z.enum(["debug", "info", "warn", "error"]),
    component: z.string().min(1).max(100),
    message,
    fields: objectIn.nullish(),
    agentVersion: z.string().max(50).nullish(),
  })
  .meta({ id: "AgentLogInput" });

const eventEntry = z
  .object({
    timestamp: deviceTime,
    level: z.enum(["info", "warning", "error", "critical"]).default("info"),
    category: z.enum(["security", "hardware", "application", "system"]).default("system"),
    source: z.string().min(1).max(255),
    eventId: z
      .string()
      .max(100)
      .nullish()
      .meta({ description: "Id of the event in its log; an empty one counts as absent." }),
    message,
    details: objectIn.nullish(),
  })
  .meta({ id: "DeviceEventInput" });

const ndjsonTypes = ["application/x-ndjson", "application/ndjson", "application/jsonl"];

const refusedEntry = z
  .object({
    index: z.int().meta({ description: "Position of the entry in the request, from 0." }),
    errors: z
      .record(z.string(), z.array(z.string()))
      .meta({ description: "What is wrong, by field; `entry` stands for the whole entry." }),
  })
  .meta({ id: "RefusedLogEntry" });

/** Of replies to logs, where the organization has a quota. */
export const quotaHeaders = {
  "X-Log-Quota-Rows": "Rows that the organization's agents may still send today (UTC).",
  "X-Log-Quota-Bytes": "Bytes that they may still send.",
};

export function quotaLines(quota: LogQuota | undefined): string[] {
  const { rows, bytes } = quota ?? {};
  return [
    ...(rows === undefined ? [] : ["X-Log-Quota-Rows", String(rows)]),
    ...(bytes === undefined ? [] : ["X-Log-Quota-Bytes", String(bytes)]),
  ];
}

const fieldErrors = z.record(z.string(), z.array(z.string()));

const appendLogs = route({
  method: "POST",
  path: "/agents/:id/logs",
  access,
  tag,
  summary: "Store diagnostic logs of the agent",
  description:
    "An object with `logs`, an array of entries, or an entry on each line (NDJSON). Valid entries are stored together, the others are `refused`; 400 when none is valid. A repeat is stored once and answered as the first: under the same Idempotency-Key, or without one the same body from the same device within 10 minutes. Invalid UTF-8 becomes U+FFFD. Takes gzip.",
  params: idParams,
  body: z.union([z.object({ logs: z.array(logEntry).max(500) }), z.array(logEntry).max(500)]),
  example: { logs: [{ timestamp: exampleTime, level: "info", component: "ws", message: "Connected" }] },
  raw: [jsonMediaType, ...ndjsonTypes],
  bodyLimitBytes,
  load: "ingest",
  idempotent: true,
  status: 201,
  reply: z.object({ received: z.int(), refused: z.array(refusedEntry) }),
  answers: { 201: { description: "Success", headers: quotaHeaders } },
  errors: ["log_quota_exceeded"],
  async handle({ params, bodyBytes: bodyJson, mediaType, rpc }, { services }) {
    const wanted = { deviceId: params.id, bodyJson, ndjson: ndjsonTypes.includes(mediaType ?? "") };
    const { received, refused, quota } = await services.deviceLogs.appendAgentLogs(wanted, await rpc());
    const entries = refused.map(({ index, errorsJson }) => ({
      index,
      errors: fieldErrors.parse(JSON.parse(errorsJson)),
    }));
    return new Answered(201, quotaLines(quota), new Rendered(JSON.stringify({ received, refused: entries })));
  },
});

const submitEvents = route({
  method: "PUT",
  path: "/agents/:id/eventlogs",
  audit: "agent.eventlogs.submit",
  auditResource: "device",
  access,
  tag,
  summary: "Store events of the device's own logs",
  description:
    "An event whose `source` and `eventId` are already stored is skipped; `count` is the number of new events. Takes gzip. Audited as `agent.eventlogs.submit`.",
  params: idParams,
  body: z.object({ events: z.array(eventEntry).max(1_000) }),
  example: { events: [{ timestamp: exampleTime, source: "System", message: "Started" }] },
  raw: [jsonMediaType],
  bodyLimitBytes,
  load: "ingest",
  reply: success.extend({ count: z.int() }),
  answers: { 200: { description: "Success", headers: quotaHeaders } },
  errors: ["log_quota_exceeded"],
  async handle({ params, bodyBytes: bodyJson, rpc }, { services }) {
    const wanted = { deviceId: params.id, bodyJson };
    const { inserted: count, quota } = await services.deviceLogs.appendEvents(wanted, await rpc());
    return new Answered(200, quotaLines(quota), new Rendered(JSON.stringify({ success: true, count })));
  },
});

/**
 * Upgrade requests to a WebSocket are served by `channel/`; this route holds their access rule, and answers every other
 * request.
 */
export const agentChannel = route({
  method: "GET",
  path: "/agents/:id/channel",
  access,
  tag,
  summary: "The agent's channel, a WebSocket",
  description: "Carries live queries (docs/agent-channel.md).",
  params: idParams,
  load: "ingest",
  status: 101,
  reply: z.object({}),
  errors: ["upgrade_required"],
  handle() {
    throw new EdgeError("upgrade_required", "The agent channel is a WebSocket", ["Upgrade", "websocket"]);
  },
});

export const agentLogRoutes: readonly Route[] = [appendLogs, submitEvents, agentChannel];
