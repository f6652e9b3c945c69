import { create } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database } from "@muster/db";
import { AppError, clampPage, isUuid } from "@muster/kit";
import { type AuditLog, AuditLogSchema, type AuditLogService } from "@muster/proto/muster/audit/v1/log_pb";
import { callContext } from "@muster/rpc";
import { requirePermission } from "@muster/service";
import { categoryOf } from "../rules/category.ts";
import { findLog, type LogRow, listLogs } from "../store/logs.ts";

/** Reading the chains; rows of other tenants do not exist for the caller. */
export function auditLogService({ db }: { db: Database }): ServiceImpl<typeof AuditLogService> {
  return {
    async listLogs(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:read");
      const page = clampPage(request.page ?? {});
      const filter = {
        orgId: request.orgId || null,
        user: request.user || null,
        action: request.action || null,
        resource: request.resource || null,
        from: request.from ? timestampDate(request.from) : null,
        to: request.to ? timestampDate(request.to) : null,
        excludeActions: request.excludeActions,
      };
      const { rows, total, nextCursor } = await listLogs(db, context, filter, page);
      return {
        logs: rows.map(toMessage),
        page: { page: page.page, limit: page.limit, nextCursor, ...(total === null ? {} : { total: BigInt(total) }) },
      };
    },

    async getLog({ id }, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:read");
      const row = isUuid(id) ? await findLog(db, context, id) : null;
      if (!row) throw new AppError("audit_log_not_found", "Audit log entry not found");
      return { log: toMessage(row) };
    },
  };
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
