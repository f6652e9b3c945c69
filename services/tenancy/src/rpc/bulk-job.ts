import { create, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, Tx } from "@muster/db";
import { AppError, type CallContext, clampPage, fieldsOf, isUuid, uuidv7 } from "@muster/kit";
import {
  type DeviceBulkJob,
  DeviceBulkJobSchema,
  DeviceBulkJobService,
} from "@muster/proto/muster/tenancy/v1/bulk_job_pb";
import { DeviceSchema, ListDevicesRequestSchema } from "@muster/proto/muster/tenancy/v1/device_pb";
import { callContext, toClaims } from "@muster/rpc";
import { auditEvent, idempotentTx, requireOrganization, requirePermission } from "@muster/service";
import { bulkChange, bulkDevicesMax, endsDevices, openJobsMax, requireExpected } from "../rules/bulk-job.ts";
import type { DeviceFields } from "../rules/device.ts";
import { checks } from "../rules/fields.ts";
import { requireAllSites } from "../rules/guards.ts";
import { bulkJobNotFound, organizationNotFound } from "../rules/refusals.ts";
import {
  type BulkJobRow,
  bulkJobStates,
  countOpenJobs,
  findBulkJob,
  insertBulkJob,
  listBulkJobs,
  lockBulkJob,
  markCancelled,
} from "../store/bulk-jobs.ts";
import { devicesOfFilter } from "../store/device-list.ts";
import { findOwner } from "../store/device-scope.ts";
import { deviceFilter } from "./device-filter.ts";
import { requireFilterTargets } from "./filter-targets.ts";
import { tenantOfNew } from "./new-tenant.ts";

type Deps = { db: Database; now: () => Date };

/** Jobs that change all devices of a filter, one after the other. */
export function bulkJobService(deps: Deps): ServiceImpl<typeof DeviceBulkJobService> {
  return { ...jobCreation(deps), ...jobReads(deps), ...jobCancelling(deps) };
}

type Handlers = ServiceImpl<typeof DeviceBulkJobService>;

function jobCreation({ db, now }: Deps): Pick<Handlers, "createDeviceBulkJob"> {
  return {
    async createDeviceBulkJob(request, handler) {
      const context = callContext(handler);
      admit(context, "devices:write");
      const requested = request.filter ?? create(ListDevicesRequestSchema);
      const wanted = bulkChange(request, request.updateMask?.paths ?? [], request.device ?? create(DeviceSchema));
      if (endsDevices(wanted.action)) requirePermission(context, "devices:delete");
      if (wanted.change.siteId === null) requireAllSites(context);
      const filter = deviceFilter({ ...requested, sort: "" });
      await requireFilterTargets(db, context, filter);
      const at = now();
      const { createDeviceBulkJob } = DeviceBulkJobService.method;
      const locate = (tx: Tx) => tenantOfNew(tx, context, filter.orgId);
      return idempotentTx(db, context, createDeviceBulkJob, request, locate, async (tx, tenant) => {
        const deviceIds = await devicesOfFilter(tx, context.caller, filter, bulkDevicesMax + 1);
        requireExpected(deviceIds.length, wanted.expectedCount);
        if ((await countOpenJobs(tx, tenant)) >= openJobsMax) throw tooManyJobs();
        const { page: _page, ...shown } = requested;
        const stored = toJson(ListDevicesRequestSchema, create(ListDevicesRequestSchema, shown));
        const job = {
          ...{ id: uuidv7(at.getTime()), tenant, createdBy: context.caller.actor.id, deviceIds },
          ...{ caller: toClaims(context.caller), meta: clientOf(context), filter: fieldsOf(stored) },
          ...{ action: wanted.action, change: wanted.change },
        };
        const row = await insertBulkJob(tx, job, at);
        audit(tx, context, "device.bulk_job.create", row, at);
        return { job: jobMessage(row) };
      });
    },
  };
}

function jobReads({ db }: Deps): Pick<Handlers, "listDeviceBulkJobs" | "getDeviceBulkJob"> {
  return {
    async listDeviceBulkJobs({ page: requested, orgId, states }, handler) {
      const context = callContext(handler);
      admit(context, "devices:read");
      const page = clampPage(requested ?? {});
      const check = checks();
      const wanted = states.map((state) => check.oneOf("states", state, bulkJobStates));
      check.done();
      if (orgId !== "") {
        const owner = isUuid(orgId) && (await db.tx(context, (tx) => findOwner(tx, context.caller, orgId, true)));
        if (!owner) throw organizationNotFound();
      }
      const { rows, info } = await listBulkJobs(db, context, { orgId, states: wanted }, page);
      return { jobs: rows.map(jobMessage), page: info };
    },

    async getDeviceBulkJob({ id }, handler) {
      const context = callContext(handler);
      admit(context, "devices:read");
      const row = isUuid(id) ? await findBulkJob(db, context, id) : null;
      if (!row) throw bulkJobNotFound();
      return { job: jobMessage(row) };
    },
  };
}

function jobCancelling({ db, now }: Deps): Pick<Handlers, "cancelDeviceBulkJob"> {
  return {
    async cancelDeviceBulkJob({ id }, handler) {
      const context = callContext(handler);
      admit(context, "devices:write");
      const at = now();
      const row = await db.tx(context, async (tx) => {
        const stored = isUuid(id) ? await lockBulkJob(tx, context.caller, id) : null;
        if (!stored) throw bulkJobNotFound();
        if (stored.finished_at !== null) return stored;
        const cancelled = await markCancelled(tx, stored.id, at);
        audit(tx, context, "device.bulk_job.cancel", cancelled, at);
        return cancelled;
      });
      return { job: jobMessage(row) };
    },
  };
}

function admit(context: CallContext, permission: "devices:read" | "devices:write"): void {
  requirePermission(context, permission);
  requireOrganization(context);
}

function tooManyJobs(): AppError {
  return new AppError("limit_reached", "Too many bulk jobs have not ended", { facts: { limit: openJobsMax } });
}

/** What audit rows of the devices show of the request. */
const clientOf = ({ meta: { requestId, clientAddress, userAgent } }: CallContext) => ({
  requestId,
  clientAddress,
  userAgent,
});

function audit(tx: Tx, context: CallContext, action: string, row: BulkJobRow, at: Date): void {
  const { filter, change, total, position, failed } = row;
  const details = { action: row.action, filter, change, devices: total, done: position - failed, failed };
  const resource = { type: "device_bulk_job", id: row.id, name: row.action };
  tx.emit(
    auditEvent("tenancy", context, { action, resource, orgId: row.org_id, partnerId: row.partner_id, details }, at),
  );
}

function jobMessage(row: BulkJobRow): DeviceBulkJob {
  return create(DeviceBulkJobSchema, {
    id: row.id,
    orgId: row.org_id ?? "",
    filter: fromJson(ListDevicesRequestSchema, row.filter as JsonValue),
    action: row.action,
    ...changeMessage(row.change),
    state: row.state,
    total: row.total,
    done: row.position - row.failed,
    failed: row.failed,
    failures: Object.entries(row.failures).map(([code, failure]) => ({ code, ...failure })),
    createdBy: row.created_by,
    createdAt: timestampFromDate(row.created_at),
    ...(row.finished_at ? { finishedAt: timestampFromDate(row.finished_at) } : {}),
  });
}

function changeMessage({ siteId, autoUpdateEnabled }: Partial<DeviceFields>) {
  const paths = [
    ...(siteId === undefined ? [] : ["site_id"]),
    ...(autoUpdateEnabled === undefined ? [] : ["auto_update_enabled"]),
  ];
  return { updateMask: { paths }, device: { siteId: siteId ?? "", autoUpdateEnabled: autoUpdateEnabled ?? false } };
}
