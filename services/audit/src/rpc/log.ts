import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database } from "@muster/db";
import { AppError, clampPage, isUuid, validationError } from "@muster/kit";
import {
  type AuditLog,
  AuditLogSchema,
  type AuditLogService,
  type ListLogsRequest,
} from "@muster/proto/muster/audit/v1/log_pb";
import { callContext } from "@muster/rpc";
import { requirePermission } from "@muster/service";
import { categoryOf } from "../rules/category.ts";
import type { LogFilter } from "../store/conditions.ts";
import type { LogRow } from "../store/log-row.ts";
import { findLog, listLogs, readableRange } from "../store/logs.ts";
import { searchSlots } from "../store/search-slots.ts";

type Deps = { db: Database; searchBudgetMs: number; searchSlots: number };

/** Reading the chains; rows of other tenants do not exist for the caller. */
export function auditLogService(deps: Deps): ServiceImpl<typeof AuditLogService> {
  const { db } = deps;
  const search = { db, budgetMs: deps.searchBudgetMs, slots: searchSlots(deps.searchSlots, 2_000) };
  return {
    async listLogs(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:read");
      const filter = filterOf(request);
      const page = clampPage(request.page ?? {});
      const range = await readableRange(db, context, orgIdOf(request.orgId));
      const { rows, total, nextCursor, searchedTo } = await listLogs(search, context, range, filter, page);
      return {
        logs: rows.map(toMessage),
        page: {
          page: page.page,
          limit: page.limit,
          nextCursor,
          ...(total === null ? {} : { total: BigInt(total.total), totalIsEstimate: total.isEstimate }),
        },
        ...(searchedTo ? { searchedTo: timestampFromDate(searchedTo) } : {}),
      };
    },

    async getLog(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:read");
      const range = await readableRange(db, context, orgIdOf(request.orgId));
      const row = isUuid(request.id) ? await findLog(db, context, range, request.id) : null;
      if (!row) throw new AppError("audit_log_not_found", "Audit log entry not found");
      return { log: toMessage(row) };
    },
  };
}

function filterOf(request: ListLogsRequest): LogFilter {
  return {
    user: request.user || null,
    action: request.action || null,
    resource: request.resource || null,
    query: request.query || null,
    from: timeOf("from", request.from),
    to: timeOf("to", request.to),
    excludeActions: request.excludeActions,
  };
}

function timeOf(name: string, timestamp: Timestamp | undefined): Date | null {
  if (!timestamp) return null;
  const date = timestampDate(timestamp);
  if (Number.isNaN(date.getTime())) throw validationError({ [name]: ["Not a time"] });
  return date;
}

function orgIdOf(text: string): string | null {
  if (text === "") return null;
  if (!isUuid(text)) throw validationError({ orgId: ["Must be a UUID"] });
  return text.toLowerCase();
}

function toMessage(row: LogRow): AuditLog {
  return create(AuditLogSchema, {
    id: row.id,
    orgId: row.org_id ?? "",
    seq: BigInt(row.seq),
    timestamp: timestampFromDate(row.timestamp),
    actorType: row.actor_type,
    actorId: row.actor_id,
    actorEmail: row.actor_email ?? "",
    actorName: row.actor_name ?? "",
    actorRole: row.actor_role ?? "",
    actorDepartment: row.actor_department ?? "",
    sessionId: row.session_id ?? "",
    action: row.action,
    category: categoryOf(row.action),
    resourceType: row.resource_type,
    resourceId: row.resource_id,
    resourceName: row.resource_name ?? "",
    detailsJson: JSON.stringify(row.details),
    ipAddress: row.ip_address ?? "",
    userAgent: row.user_agent ?? "",
    result: row.result,
    errorMessage: row.error_message ?? "",
    checksum: row.checksum,
    prevChecksum: row.prev_checksum ?? "",
  });
}
