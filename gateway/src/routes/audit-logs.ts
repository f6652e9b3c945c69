import type { AuditLog } from "@muster/proto/muster/audit/v1/log_pb";
import { z } from "zod";
import { type Route, route } from "../route.ts";
import { id, idOut, idParams, listQuery, objectOf, objectOut, pageOf, pagination, paginationOf, timeIn, timeOf, timeOrNull, timeOut, timestampOf } from "./schemas.ts";

const tag = "Audit logs";

const text = z.string().max(255).optional();

/** Filters of every audit list (interface, "Audit logs"; `orgId` and `excludeActions` of 01-conventions). */
const auditQuery = listQuery.extend({
  orgId: id.optional(),
  user: text.meta({ description: "E-mail or name of the actor contains this, case aside." }),
  action: text.meta({ description: "Action contains this, case aside." }),
  resource: text.meta({ description: "Type or name of the resource contains this, case aside." }),
  from: timeIn.optional(),
  to: timeIn.optional(),
  excludeActions: z
    .union([z.string().max(2_000), z.array(z.string().max(100)).max(50)])
    .optional()
    .meta({ description: "Actions left out, comma-separated or repeated." }),
});

const auditPagination = pagination
  .extend({
    totalPages: z.int().nullable(),
    totalIsEstimate: z.boolean(),
    searchedTo: timeOut.nullable().meta({ description: "How far back a search got whose time was up." }),
  })
  .meta({ id: "AuditPagination" });

const actor = z.object({
  id: idOut,
  name: z.string().nullable(),
  email: z.string().nullable(),
  role: z.string().nullable(),
});

const auditLog = z
  .object({
    id: idOut,
    timestamp: timeOut,
    orgId: idOut.nullable(),
    actorType: z.enum(["user", "api_key", "agent", "system"]),
    user: actor,
    action: z.string(),
    resource: z.object({ type: z.string(), id: idOut.nullable(), name: z.string().nullable() }),
    category: z.string(),
    result: z.enum(["success", "failure", "denied"]),
    errorMessage: z.string().nullable(),
    ipAddress: z.string().nullable(),
    userAgent: z.string().nullable(),
    details: objectOut,
    seq: z.int().meta({ description: "Place in its chain, from 1, without gaps." }),
    checksum: z.string(),
    prevChecksum: z.string().nullable().meta({ description: "Null on the earliest retained row." }),
  })
  .meta({ id: "AuditLog" });

const list = route({
  method: "GET",
  path: "/audit-logs/logs",
  access: { auth: "session", permission: "audit:read" },
  tag,
  summary: "Audit rows the caller may see, newest first",
  query: auditQuery,
  reply: z.object({ data: z.array(auditLog), pagination: auditPagination }),
  async handle({ query, rpc }, { services }) {
    const wanted = {
      page: pageOf(query),
      orgId: query.orgId ?? "",
      user: query.user ?? "",
      action: query.action ?? "",
      resource: query.resource ?? "",
      from: timestampOf(query.from),
      to: timestampOf(query.to),
      excludeActions: actionsOf(query.excludeActions),
    };
    const reply = await services.auditLogs.listLogs(wanted, await rpc());
    const page = paginationOf(reply.page);
    return {
      data: reply.logs.map(auditLogOf),
      pagination: {
        ...page,
        totalPages: page.total === null ? null : Math.ceil(page.total / Math.max(1, page.limit)),
        totalIsEstimate: reply.page?.totalIsEstimate ?? false,
        searchedTo: timeOrNull(reply.searchedTo),
      },
    };
  },
});

const get = route({
  method: "GET",
  path: "/audit-logs/logs/:id",
  access: { auth: "session", permission: "audit:read" },
  tag,
  summary: "One audit row",
  params: idParams,
  reply: auditLog,
  errors: ["audit_log_not_found"],
  async handle({ params, rpc }, { services }) {
    const { log } = await services.auditLogs.getLog({ id: params.id }, await rpc());
    if (!log) throw new Error("audit answered without a row");
    return auditLogOf(log);
  },
});

function auditLogOf(log: AuditLog): z.input<typeof auditLog> {
  return {
    id: log.id,
    timestamp: timeOf(log.timestamp),
    orgId: log.orgId || null,
    actorType: auditLog.shape.actorType.parse(log.actorType),
    user: {
      id: log.actorId,
      name: log.actorName || null,
      email: log.actorEmail || null,
      role: log.actorRole || null,
    },
    action: log.action,
    resource: { type: log.resourceType, id: log.resourceId || null, name: log.resourceName || null },
    category: log.category,
    result: auditLog.shape.result.parse(log.result),
    errorMessage: log.errorMessage || null,
    ipAddress: log.ipAddress || null,
    userAgent: log.userAgent || null,
    details: objectOf(log.detailsJson),
    seq: Number(log.seq),
    checksum: log.checksum,
    prevChecksum: log.prevChecksum || null,
  };
}

function actionsOf(value: string | string[] | undefined): string[] {
  if (value === undefined) return [];
  const texts = typeof value === "string" ? value.split(",") : value;
  return texts.map((action) => action.trim()).filter((action) => action !== "");
}

export const auditLogRoutes: readonly Route[] = [list, get];
