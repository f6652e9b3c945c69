import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { AppError, type CallContext, clampPage, isUuid, uuidv7 } from "@muster/kit";
import { type Alert, AlertSchema, AlertService, type CreateAlertRequest } from "@muster/proto/muster/audit/v1/alert_pb";
import type { ListLogsRequest } from "@muster/proto/muster/audit/v1/log_pb";
import { callContext } from "@muster/rpc";
import {
  auditEvent,
  checkedBefore,
  idempotentTx,
  requireMfa,
  requirePermission,
  type TenantReader,
} from "@muster/service";
import { type AlertInput, alertChange, newAlert } from "../rules/alert.ts";
import { namedFilter } from "../rules/export-job.ts";
import { rangeOf } from "../rules/range.ts";
import {
  type AlertRow,
  type AlertTenant,
  alertFields,
  findAlert,
  insertAlert,
  listAlerts,
  lockAlert,
  removeAlert,
  thresholdOf,
  updateAlert,
} from "../store/alerts.ts";
import { readableRange } from "../store/logs.ts";
import { isDeleted } from "../store/policies.ts";
import { tenantOfChain } from "../store/proof.ts";
import { filterOf, orgIdOf } from "./log-messages.ts";
import { isVisibleChain } from "./visible-chain.ts";

export type AlertDeps = TenantReader & {
  now: () => Date;
  mfaMaxAgeMinutes: number;
  /** Alerts that an organization, a partner or the platform may have. */
  alertsPerTenant: number;
};

type Handlers = ServiceImpl<typeof AlertService>;

/** Searches of audit rows that notify when a row matches (docs/audit-alerts.md). */
export function alertService(deps: AlertDeps): Handlers {
  return { ...alertReads(deps), createAlert: createAlert(deps), ...alertChanges(deps) };
}

function alertReads(deps: AlertDeps): Pick<Handlers, "listAlerts" | "getAlert"> {
  const { db } = deps;
  return {
    async listAlerts(request, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:read");
      const orgId = orgIdOf(request.orgId);
      await readableRange(deps, context, orgId);
      const { rows, info } = await listAlerts(db, context, orgId, clampPage(request.page ?? {}));
      return { alerts: rows.map(alertMessage), page: info };
    },

    async getAlert({ id }, handler) {
      const context = callContext(handler);
      requirePermission(context, "audit:read");
      return { alert: alertMessage(await found(deps, context, id)) };
    },
  };
}

function createAlert(deps: AlertDeps): Handlers["createAlert"] {
  const { db, now } = deps;
  return async (request, handler) => {
    const context = callContext(handler);
    writer(deps, context);
    // What is wrong with the body by itself precedes what is wrong with the organization.
    newAlert(inputOf(request, true));
    const tenant = await tenantOf(deps, context, request.orgId);
    if (tenant.orgId && (await isDeleted(db, context, tenant.orgId))) {
      throw new AppError("organization_not_found", "Organization not found");
    }
    requireWholeTenant(context, tenant);
    const fields = newAlert(inputOf(request, tenant.orgId !== null));
    const at = now();
    const wanted = { ...tenant, id: uuidv7(at.getTime()), authorId: context.caller.actor.id, fields };
    const { method } = AlertService;
    return idempotentTx(db, context, method.createAlert, request, checkedBefore, async (tx) => {
      const row = await insertAlert(tx, wanted, deps.alertsPerTenant, at);
      if (!row) {
        throw new AppError("limit_reached", "The limit of alerts is reached", {
          facts: { limit: deps.alertsPerTenant },
        });
      }
      record(tx, context, row, "audit.alert.create", { changes: { before: {}, after: alertFields(row) } }, at);
      return { alert: alertMessage(row) };
    });
  };
}

function alertChanges(deps: AlertDeps): Pick<Handlers, "updateAlert" | "deleteAlert"> {
  const { db, now } = deps;
  return {
    async updateAlert({ id, updateMask, ...request }, handler) {
      const context = callContext(handler);
      writer(deps, context);
      const input = { ...inputOf({ ...request, template: "" }, true), status: request.status };
      const paths = updateMask?.paths ?? [];
      alertChange(paths, input);
      const stored = await found(deps, context, id);
      requireWholeTenant(context, { orgId: stored.org_id, partnerId: stored.partner_id });
      const change = alertChange(paths, { ...input, isOfOrganization: stored.org_id !== null });
      const at = now();
      const row = await db.tx(context, async (tx) => {
        const locked = await lockAlert(tx, stored.id);
        if (!locked) return null;
        const before = { ...alertFields(locked), status: locked.status };
        // Whoever changes an alert is its author from then on: it fires in the name of one who chose what it sends.
        const after = { ...before, status: "active" as const, ...change, authorId: context.caller.actor.id };
        if (locked.status === "paused" && !change.status) Object.assign(after, { status: "paused" });
        const updated = await updateAlert(tx, locked, after, at);
        const changes = { before, after: { ...alertFields(updated), status: updated.status } };
        record(tx, context, updated, "audit.alert.update", { changes }, at);
        return updated;
      });
      if (!row) throw notFound();
      return { alert: alertMessage(row) };
    },

    async deleteAlert({ id }, handler) {
      const context = callContext(handler);
      writer(deps, context);
      const stored = await found(deps, context, id);
      requireWholeTenant(context, { orgId: stored.org_id, partnerId: stored.partner_id });
      const at = now();
      const removed = await db.tx(context, async (tx) => {
        const row = await lockAlert(tx, stored.id);
        if (!row) return false;
        await removeAlert(tx, row.id);
        record(tx, context, row, "audit.alert.delete", { changes: { before: alertFields(row), after: {} } }, at);
        return true;
      });
      if (!removed) throw notFound();
      return {};
    },
  };
}

function writer(deps: AlertDeps, context: CallContext): void {
  requirePermission(context, "audit:write");
  requireMfa(context, deps.mfaMaxAgeMinutes, deps.now());
}

/** An alert over all organizations of a partner is for users with access to all of them. Throws `scope_not_allowed`. */
function requireWholeTenant({ caller }: CallContext, { orgId }: AlertTenant): void {
  if (orgId === null && caller.scope === "partner" && caller.orgAccess.mode !== "all") {
    throw new AppError("scope_not_allowed", "This operation needs access to all organizations of the partner");
  }
}

/** The named organization, else the caller's own tenant. Throws `organization_not_found`, `site_restricted`. */
async function tenantOf(deps: AlertDeps, context: CallContext, wanted: string): Promise<AlertTenant> {
  const orgId = orgIdOf(wanted);
  await readableRange(deps, context, orgId);
  if (orgId) return tenantOfChain(deps.db, context, orgId);
  const { orgId: ownId, partnerId } = context.caller;
  return { orgId: ownId, partnerId };
}

/** An alert of a tenant that the caller reads. */
async function found(deps: AlertDeps, context: CallContext, id: string): Promise<AlertRow> {
  rangeOf(context.caller, null);
  const row = isUuid(id) ? await findAlert(deps.db, context, id.toLowerCase()) : null;
  if (!row) throw notFound();
  const { org_id: orgId, partner_id: partnerId } = row;
  const chainId = orgId ?? partnerId ?? "";
  if (context.caller.scope !== "system" && !(await isVisibleChain(deps, context, { chainId, orgId, partnerId }))) {
    throw notFound();
  }
  return row;
}

type Request = Pick<CreateAlertRequest, "name" | "template" | "filter" | "threshold" | "notify">;

function inputOf({ name, template, filter, threshold, notify }: Request, isOfOrganization: boolean): AlertInput {
  return {
    name,
    template,
    filter: filter ? namedFilter(filterOf(filter as ListLogsRequest)) : {},
    threshold: threshold ? { count: threshold.count, minutes: threshold.minutes } : null,
    notify: notify ? { webhook: notify.webhook, userIds: notify.userIds } : null,
    isOfOrganization,
  };
}

function record(
  tx: Tx,
  context: CallContext,
  row: AlertRow,
  action: `audit.alert.${"create" | "update" | "delete"}`,
  details: Record<string, unknown>,
  at: Date,
): void {
  const resource = { type: "audit_alert", id: row.id, name: row.name };
  tx.emit(
    auditEvent("audit", context, { action, resource, orgId: row.org_id, partnerId: row.partner_id, details }, at),
  );
}

const notFound = () => new AppError("audit_alert_not_found", "Audit alert not found");

function alertMessage(row: AlertRow): Alert {
  const threshold = thresholdOf(row);
  return create(AlertSchema, {
    id: row.id,
    orgId: row.org_id ?? "",
    name: row.name,
    template: row.template ?? "",
    filterJson: JSON.stringify(row.filter),
    ...(threshold ? { threshold } : {}),
    notify: { webhook: row.webhook, userIds: row.recipients },
    status: row.status,
    lastError: row.last_error ?? "",
    ...(row.last_fired_at ? { lastFiredAt: timestampFromDate(row.last_fired_at) } : {}),
    fired: BigInt(row.fired),
    authorId: row.author_id,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
  });
}
