import { fieldsOf } from "@muster/kit";
import type { AuditLog, ListLogsResponse } from "@muster/proto/muster/audit/v1/log_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import {
  addressIn,
  id,
  idOut,
  idParams,
  listQuery,
  objectOf,
  objectOut,
  only,
  pageOf,
  pagination,
  paginationOf,
  timeIn,
  timeOf,
  timeOrNull,
  timeOut,
  timestampOf,
  valuesIn,
} from "../fields/schemas.ts";

export const tag = "Audit logs";

const text = z.string().max(255).optional();

/** Filters of every audit list (docs/behaviour.md#audit-lists). */
export const auditQuery = listQuery.extend({
  orgId: id.optional().meta({ description: only.organization }),
  user: text.meta({
    description: "Only records with an e-mail address or name of the actor that contains this text, ignoring case.",
  }),
  action: text.meta({ description: "Only records with an action that contains this text, ignoring case." }),
  resource: text.meta({
    description: "Only records with a type or name of the resource that contains this text, ignoring case.",
  }),
  from: timeIn.optional(),
  to: timeIn.optional(),
  actorId: id.optional().meta({ description: "Only records of this actor: a user, an API key or an agent." }),
  resourceId: id.optional().meta({ description: only.equal }),
  resourceType: z.string().max(50).optional().meta({ description: only.equal, example: "device" }),
  result: z.enum(["success", "failure", "denied"]).optional().meta({ description: only.equal }),
  category: z
    .enum(["authentication", "device", "automation", "policy", "alert", "compliance", "organization", "system"])
    .optional()
    .meta({ description: only.equal }),
  actorType: z.enum(["user", "api_key", "agent", "system"]).optional().meta({ description: only.equal }),
  target: text.meta({ description: "Only records whose resource, or one of whose targets, has this id." }),
  ipAddress: addressIn.optional().meta({ description: "Only records of requests from this address." }),
  network: z
    .string()
    .max(50)
    .optional()
    .meta({ description: "Only records of requests from this network.", example: "192.0.2.0/24" }),
  sessionId: id.optional().meta({ description: "Only records of this session." }),
  actions: valuesIn(z.string().max(100), 50).optional().meta({ description: only.oneOf }),
  excludeActions: valuesIn(z.string().max(100), 50)
    .optional()
    .meta({ description: "Only records without any of these values, comma-separated or repeated." }),
  excludeTargetTypes: valuesIn(z.string().max(50), 10).optional().meta({
    description:
      "Only records without a target of these types: without `device_bulk_job`, a bulk job is its own record alone.",
  }),
});

const auditPagination = pagination
  .extend({
    totalPages: z.int().nullable(),
    totalIsEstimate: z.boolean(),
    searchedTo: timeOut
      .nullable()
      .meta({ description: "Time back to which a search that reached its deadline has searched." }),
  })
  .meta({ id: "AuditPagination" });

const actor = z.object({
  id: idOut,
  name: z.string().nullable(),
  email: z.string().nullable(),
  role: z.string().nullable(),
});

export const auditLog = z
  .object({
    id: idOut,
    timestamp: timeOut,
    orgId: idOut.nullable(),
    actorType: z.enum(["user", "api_key", "agent", "system"]),
    user: actor,
    action: z.string(),
    resource: z.object({ type: z.string(), id: idOut.nullable(), name: z.string().nullable() }),
    targets: z
      .array(z.object({ type: z.string(), id: z.string(), name: z.string().nullable() }))
      .meta({ description: "What it is about besides the resource." }),
    category: z.string(),
    result: z.enum(["success", "failure", "denied"]),
    errorMessage: z.string().nullable(),
    ipAddress: z.string().nullable(),
    userAgent: z.string().nullable(),
    sessionId: idOut.nullable().meta({ description: "Id of the user's session." }),
    details: objectOut,
    seq: z.int().meta({ description: "Position in its chain, from 1, without gaps." }),
    checksum: z.string(),
    prevChecksum: z
      .string()
      .nullable()
      .meta({ description: "Checksum of the previous row; null on the earliest retained row." }),
  })
  .meta({ id: "AuditLog" });

const entry = z
  .object({
    id: idOut,
    timestamp: timeOut,
    action: z.string(),
    resource: z.string().meta({ description: "Name of the resource, else its type." }),
    resourceType: z.string(),
    details: z.string().meta({ description: "The details as compact JSON text." }),
    ipAddress: z.string().nullable(),
    userAgent: z.string().nullable(),
    sessionId: idOut.nullable(),
    user: actor.omit({ id: true }).extend({ department: z.string().nullable() }),
    changes: z.object({ before: objectOut, after: objectOut }),
  })
  .meta({ id: "AuditEntry" });

export const access = { auth: "session", permission: "audit:read", keyScopes: ["audit:read"] } as const;
export const listErrors = ["organization_not_found", "site_restricted"] as const;

const listEntries = route({
  method: "GET",
  path: "/audit-logs",
  access,
  tag,
  summary: "Audit rows the caller may see as flat entries, newest first",
  query: auditQuery,
  reply: z.object({ entries: z.array(entry), pagination: auditPagination }),
  errors: listErrors,
  async handle({ query, rpc }, { services }) {
    const reply = await services.auditLogs.listLogs(wantedOf(query), await rpc());
    return { entries: reply.logs.map(entryOf), pagination: auditPaginationOf(reply) };
  },
});

const list = route({
  method: "GET",
  path: "/audit-logs/logs",
  access,
  tag,
  summary: "Audit rows the caller may see, newest first",
  query: auditQuery,
  reply: z.object({ data: z.array(auditLog), pagination: auditPagination }),
  errors: listErrors,
  async handle({ query, rpc }, { services }) {
    const reply = await services.auditLogs.listLogs(wantedOf(query), await rpc());
    return { data: reply.logs.map(auditLogOf), pagination: auditPaginationOf(reply) };
  },
});

const search = route({
  method: "GET",
  path: "/audit-logs/search",
  access,
  tag,
  summary: "Audit rows that contain a text in action, actor's e-mail, resource or details, newest first",
  description:
    "A search that reaches its deadline returns its partial result: `nextCursor` continues where it stopped, `searchedTo` is the time back to which it searched.",
  query: auditQuery.extend({
    q: z.string().min(1).max(255).meta({ description: "Text to search for, ignoring case." }),
  }),
  reply: z.object({ data: z.array(auditLog), query: z.string(), pagination: auditPagination }),
  errors: listErrors,
  async handle({ query, rpc }, { services }) {
    const reply = await services.auditLogs.listLogs({ ...wantedOf(query), query: query.q }, await rpc());
    return { data: reply.logs.map(auditLogOf), query: query.q, pagination: auditPaginationOf(reply) };
  },
});

const get = route({
  method: "GET",
  path: "/audit-logs/logs/:id",
  access,
  tag,
  summary: "One audit row",
  params: idParams,
  query: z.object({ orgId: id.optional() }),
  reply: auditLog,
  errors: ["audit_log_not_found", ...listErrors],
  async handle({ params, query, rpc }, { services }) {
    const { log } = await services.auditLogs.getLog({ id: params.id, orgId: query.orgId ?? "" }, await rpc());
    if (!log) throw new Error("audit answered without a row");
    return auditLogOf(log);
  },
});

/** A row in the detailed shape. */
export function auditLogOf(log: AuditLog): z.input<typeof auditLog> {
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
    targets: log.targets.map(({ type, id: targetId, name }) => ({ type, id: targetId, name: name || null })),
    category: log.category,
    result: auditLog.shape.result.parse(log.result),
    errorMessage: log.errorMessage || null,
    ipAddress: log.ipAddress || null,
    userAgent: log.userAgent || null,
    sessionId: log.sessionId || null,
    details: objectOf(log.detailsJson),
    seq: Number(log.seq),
    checksum: log.checksum,
    prevChecksum: log.prevChecksum || null,
  };
}

/** The filters of a list as the service's request has them. */
export function wantedOf(query: z.output<typeof auditQuery>) {
  return {
    page: pageOf(query),
    orgId: query.orgId ?? "",
    user: query.user ?? "",
    action: query.action ?? "",
    resource: query.resource ?? "",
    from: timestampOf(query.from),
    to: timestampOf(query.to),
    excludeActions: query.excludeActions ?? [],
    excludeTargetTypes: query.excludeTargetTypes ?? [],
    actorId: query.actorId ?? "",
    resourceId: query.resourceId ?? "",
    resourceType: query.resourceType ?? "",
    result: query.result ?? "",
    category: query.category ?? "",
    actions: query.actions ?? [],
    actorType: query.actorType ?? "",
    target: query.target ?? "",
    ipAddress: query.ipAddress ?? "",
    network: query.network ?? "",
    sessionId: query.sessionId ?? "",
  };
}

function auditPaginationOf({ page, searchedTo }: ListLogsResponse): z.input<typeof auditPagination> {
  const shown = paginationOf(page);
  return {
    ...shown,
    totalPages: shown.total === null ? null : Math.ceil(shown.total / Math.max(1, shown.limit)),
    totalIsEstimate: page?.totalIsEstimate ?? false,
    searchedTo: timeOrNull(searchedTo),
  };
}

function entryOf(log: AuditLog): z.input<typeof entry> {
  const details = objectOf(log.detailsJson);
  const { before, after } = fieldsOf(details.changes);
  return {
    id: log.id,
    timestamp: timeOf(log.timestamp),
    action: log.action,
    resource: log.resourceName || log.resourceType,
    resourceType: log.resourceType,
    details: JSON.stringify(details),
    ipAddress: log.ipAddress || null,
    userAgent: log.userAgent || null,
    sessionId: log.sessionId || null,
    user: {
      name: log.actorName || null,
      email: log.actorEmail || null,
      role: log.actorRole || null,
      department: log.actorDepartment || null,
    },
    changes: { before: fieldsOf(before), after: fieldsOf(after) },
  };
}

export const auditLogRoutes: readonly Route[] = [listEntries, list, search, get];
