import type { LogUsage, OrganizationLogLimits } from "@muster/proto/muster/devicelogs/v1/limit_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { maskOf } from "../fields/field-mask.ts";
import { idOut, idParams, listQuery, pageOf, pagination, paginationOf } from "../fields/schemas.ts";

const tag = "Device logs";
const path = "/orgs/organizations/:id/log-limits";

const quota = z.int().min(1).max(Number.MAX_SAFE_INTEGER);
const days = z.int().min(1).max(3_650);

const usage = z
  .object({
    orgId: idOut,
    day: z.string().meta({ description: "Day of UTC.", example: "2026-01-31" }),
    rows: z.int(),
    bytes: z.int().meta({ description: "Bytes of the requests, inflated." }),
    refusedRequests: z.int().meta({ description: "Requests that were refused because the quota was used." }),
  })
  .meta({ id: "LogUsage", description: "What an organization's agents sent on a day; at most a second old." });

const limits = z
  .object({
    orgId: idOut,
    rowsPerDay: quota.nullable(),
    bytesPerDay: quota.nullable(),
    agentLogDays: days.nullable(),
    eventLogDays: days.nullable(),
    effective: z
      .object({ rowsPerDay: quota.nullable(), bytesPerDay: quota.nullable(), agentLogDays: days, eventLogDays: days })
      .meta({ description: "What counts: the organization's own value, else the platform's. A null quota is none." }),
    today: usage,
  })
  .meta({ id: "LogLimits", description: "A null field is the platform's." });

const get = route({
  method: "GET",
  path,
  access: { auth: "session", permission: "organizations:read", keyScopes: ["organizations:read"] },
  tag,
  summary: "Quota and retention of an organization's logs, and what its agents sent today",
  params: idParams,
  reply: limits,
  errors: ["organization_not_found"],
  async handle({ params, rpc }, { services }) {
    const reply = await services.logLimits.getLogLimits({ orgId: params.id }, await rpc());
    return limitsOf(reply.limits);
  },
});

const paths = {
  rowsPerDay: "rows_per_day",
  bytesPerDay: "bytes_per_day",
  agentLogDays: "agent_log_days",
  eventLogDays: "event_log_days",
};

const update = route({
  method: "PATCH",
  path,
  audit: "organization.log_limits.update",
  auditResource: "organization",
  access: { auth: "session", permission: "organizations:write", mfa: true },
  tag,
  summary: "Change quota and retention of an organization's logs",
  description:
    "Retention is at most the platform's. A quota needs permission `platform:admin`. Null takes the platform's value. A quota counts within a second of the next request, a shorter retention within an hour.",
  params: idParams,
  body: z.object({
    rowsPerDay: quota.nullish(),
    bytesPerDay: quota.nullish(),
    agentLogDays: days.nullish(),
    eventLogDays: days.nullish(),
  }),
  example: { agentLogDays: 7 },
  reply: limits,
  errors: ["organization_not_found", "site_restricted", "permission_denied"],
  async handle({ params, body, rpc }, { services }) {
    const { rowsPerDay, bytesPerDay, agentLogDays, eventLogDays } = body;
    const wanted = {
      ...(rowsPerDay == null ? {} : { rowsPerDay: BigInt(rowsPerDay) }),
      ...(bytesPerDay == null ? {} : { bytesPerDay: BigInt(bytesPerDay) }),
      ...(agentLogDays == null ? {} : { agentLogDays }),
      ...(eventLogDays == null ? {} : { eventLogDays }),
    };
    const change = { orgId: params.id, updateMask: maskOf(body, paths), limits: wanted };
    const reply = await services.logLimits.updateLogLimits(change, await rpc());
    return limitsOf(reply.limits);
  },
});

const list = route({
  method: "GET",
  path: "/platform/log-usage",
  access: { auth: "session", permission: "platform:admin", scopes: ["system"] },
  tag,
  summary: "Organizations by the log rows that their agents sent on a day, most first",
  description: "Kept for 90 days.",
  query: listQuery.extend({
    day: z.string().max(10).optional().meta({ description: "Day of UTC, today when absent.", example: "2026-01-31" }),
    refused: z.enum(["true"]).optional().meta({ description: "Only organizations of which requests were refused." }),
  }),
  reply: z.object({ data: z.array(usage), pagination }),
  async handle({ query, rpc }, { services }) {
    const wanted = { day: query.day ?? "", refusedOnly: query.refused === "true", page: pageOf(query, 500) };
    const reply = await services.logLimits.listLogUsage(wanted, await rpc());
    return { data: reply.usage.map(usageOf), pagination: paginationOf(reply.page) };
  },
});

function limitsOf(reply: OrganizationLogLimits | undefined): z.input<typeof limits> {
  if (!reply?.own || !reply.effective || !reply.today) throw new Error("device-logs answered without limits");
  const { own, effective, today } = reply;
  const { agentLogDays, eventLogDays } = effective;
  if (agentLogDays === undefined || eventLogDays === undefined) throw new Error("device-logs answered no retention");
  return {
    orgId: reply.orgId,
    rowsPerDay: countOf(own.rowsPerDay),
    bytesPerDay: countOf(own.bytesPerDay),
    agentLogDays: own.agentLogDays ?? null,
    eventLogDays: own.eventLogDays ?? null,
    effective: {
      rowsPerDay: countOf(effective.rowsPerDay),
      bytesPerDay: countOf(effective.bytesPerDay),
      agentLogDays,
      eventLogDays,
    },
    today: usageOf(today),
  };
}

const countOf = (count: bigint | undefined) => (count === undefined ? null : Number(count));

function usageOf({ orgId, day, rows, bytes, refused }: LogUsage): z.input<typeof usage> {
  return { orgId, day, rows: Number(rows), bytes: Number(bytes), refusedRequests: Number(refused) };
}

export const logLimitRoutes: readonly Route[] = [get, update, list];
