import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, clampPage, isUuid } from "@muster/kit";
import type { AuditLogService } from "@muster/proto/muster/audit/v1/log_pb";
import { callContext } from "@muster/rpc";
import { requirePermission, type TenantReader } from "@muster/service";
import { findLog, listLogs, readableRange } from "../store/logs.ts";
import { searchPermits } from "../store/search-permits.ts";
import { filterOf, orgIdOf, toMessage } from "./log-messages.ts";

type Deps = TenantReader & { searchBudgetMs: number; searchConcurrency: number };

/** Reading the chains; rows of other tenants do not exist for the caller. */
export function auditLogService(deps: Deps): ServiceImpl<typeof AuditLogService> {
  const { db } = deps;
  const search = { db, budgetMs: deps.searchBudgetMs, permits: searchPermits(deps.searchConcurrency, 2_000) };
  return {
    async listLogs(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:read");
      const filter = filterOf(request);
      const page = clampPage(request.page ?? {});
      const range = await readableRange(deps, context, orgIdOf(request.orgId));
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
      const range = await readableRange(deps, context, orgIdOf(request.orgId));
      const row = isUuid(request.id) ? await findLog(db, context, range, request.id) : null;
      if (!row) throw new AppError("audit_log_not_found", "Audit log entry not found");
      return { log: toMessage(row) };
    },
  };
}
