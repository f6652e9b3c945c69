import type { DeviceBulkJob } from "@muster/proto/muster/tenancy/v1/bulk_job_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { maskOf } from "../fields/field-mask.ts";
import {
  id,
  idOut,
  idParams,
  listQuery,
  only,
  pageOf,
  pagination,
  paginationOf,
  success,
  timeOf,
  timeOrNull,
  timeOut,
  valuesIn,
} from "../fields/schemas.ts";
import { deviceFilters, filterRequest, filtersOf } from "./device-filters.ts";

const tag = "Devices";
const write = { auth: "session", permission: "devices:write", keyScopes: ["devices:write"] } as const;

const action = z.enum(["update", "decommission", "approve", "merge", "reject"]);

const change = z.object({
  siteId: id.nullish().meta({ description: "A site of their organization; null removes them from their sites." }),
  autoUpdateEnabled: z.boolean().optional(),
});
const paths = { siteId: "site_id", autoUpdateEnabled: "auto_update_enabled" };

const failure = z.object({
  code: z.string(),
  error: z.string(),
  count: z.int(),
  deviceIds: z.array(idOut).meta({ description: "The first 20 of these devices." }),
});

const status = z.enum(["queued", "running", "done", "cancelled"]);

const job = z
  .object({
    id: idOut,
    orgId: idOut.nullable().meta({ description: "Null for a job that is not of one organization." }),
    filter: deviceFilters.meta({ description: "Parameters of `GET /devices` that chose the devices." }),
    action,
    change: change.nullable().meta({ description: "Of an `update`; null for other actions." }),
    status,
    total: z.int().meta({ description: "Devices that matched when the job was made." }),
    done: z.int().meta({ description: "Devices changed so far." }),
    failed: z.int().meta({ description: "Devices refused so far; they stay unchanged." }),
    reasons: z.array(failure).meta({ description: "One for each error, as of a call for these devices alone." }),
    createdBy: idOut,
    createdAt: timeOut,
    finishedAt: timeOut.nullable(),
  })
  .meta({ id: "DeviceBulkJob" });

const create = route({
  method: "POST",
  path: "/devices/bulk-jobs",
  audit: "device.bulk_job.create",
  auditResource: "device_bulk_job",
  access: write,
  tag,
  summary: "Change all devices that match a filter, in the background",
  description:
    "The devices that match now are chosen, at most 50,000, and changed one after the other with the caller's present rights, each with its event and its audit row. " +
    "`decommission`, `merge` and `reject` need permission `devices:delete`, too.",
  body: z.object({
    // A misspelled filter would choose every device.
    filter: deviceFilters.strict().meta({ description: "Parameters of `GET /devices`, without page and sort." }),
    expectedCount: z.int().min(1).max(2_147_483_647).meta({
      description: "Number of devices that the caller was shown; 409 when more than 1 % more or fewer match.",
    }),
    action: action.meta({ description: "As `PATCH` and `DELETE /devices/:id`, and `POST /devices/bulk-review`." }),
    change: change.optional().meta({ description: "Of an `update`." }),
  }),
  example: { filter: { status: ["offline"], os: "linux" }, expectedCount: 1200, action: "decommission" },
  status: 202,
  idempotent: true,
  reply: job,
  errors: [
    "no_updates",
    "permission_denied",
    "organization_not_found",
    "site_not_found",
    "device_group_not_found",
    "site_restricted",
    "device_count_changed",
    "limit_reached",
  ],
  async handle({ body, rpc }, { services }) {
    const { change: wanted = {}, expectedCount } = body;
    const request = {
      filter: filterRequest(body.filter),
      expectedCount,
      action: body.action,
      updateMask: maskOf(wanted, paths),
      device: { ...wanted, siteId: wanted.siteId ?? "" },
    };
    return jobOf((await services.bulkJobs.createDeviceBulkJob(request, await rpc())).job);
  },
});

const list = route({
  method: "GET",
  path: "/devices/bulk-jobs",
  access: { auth: "session", permission: "devices:read", keyScopes: ["devices:read"] },
  tag,
  summary: "List bulk jobs, newest first",
  description: "Kept for 30 days after their end. Who reaches a part of a tenant sees their own jobs alone.",
  query: listQuery.extend({
    orgId: id.optional().meta({ description: only.organization }),
    status: valuesIn(status, 4)
      .optional()
      .meta({ description: only.oneOf, example: ["queued", "running"] }),
  }),
  reply: z.object({ data: z.array(job), pagination }),
  errors: ["organization_not_found"],
  async handle({ query, rpc }, { services }) {
    const { orgId = "", status: states = [] } = query;
    const reply = await services.bulkJobs.listDeviceBulkJobs({ page: pageOf(query), orgId, states }, await rpc());
    return { data: reply.jobs.map(jobOf), pagination: paginationOf(reply.page) };
  },
});

const get = route({
  method: "GET",
  path: "/devices/bulk-jobs/:id",
  access: { auth: "session", permission: "devices:read", keyScopes: ["devices:read"] },
  tag,
  summary: "Progress of a bulk job",
  description: "Kept for 30 days after its end. Who reaches a part of its tenant reads their own jobs alone.",
  params: idParams,
  reply: job,
  errors: ["bulk_job_not_found"],
  async handle({ params, rpc }, { services }) {
    return jobOf((await services.bulkJobs.getDeviceBulkJob({ id: params.id }, await rpc())).job);
  },
});

const cancel = route({
  method: "DELETE",
  path: "/devices/bulk-jobs/:id",
  audit: "device.bulk_job.cancel",
  auditResource: "device_bulk_job",
  access: write,
  tag,
  summary: "Cancel a bulk job",
  description: "No further device is changed; those that were stay changed. An ended job stays unchanged.",
  params: idParams,
  reply: success,
  errors: ["bulk_job_not_found"],
  async handle({ params, rpc }, { services }) {
    await services.bulkJobs.cancelDeviceBulkJob({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

function jobOf(message: DeviceBulkJob | undefined): z.input<typeof job> {
  if (!message?.filter) throw new Error("tenancy answered without a bulk job");
  return {
    id: message.id,
    orgId: message.orgId || null,
    filter: filtersOf(message.filter),
    action: action.parse(message.action),
    change: message.action === "update" ? changeOf(message) : null,
    status: job.shape.status.parse(message.state),
    total: message.total,
    done: message.done,
    failed: message.failed,
    reasons: message.failures.map(({ code, error, count, deviceIds }) => ({ code, error, count, deviceIds })),
    createdBy: message.createdBy,
    createdAt: timeOf(message.createdAt),
    finishedAt: timeOrNull(message.finishedAt),
  };
}

function changeOf({ updateMask, device }: DeviceBulkJob): z.input<typeof change> {
  const written = updateMask?.paths ?? [];
  return {
    ...(written.includes(paths.siteId) ? { siteId: device?.siteId || null } : {}),
    ...(written.includes(paths.autoUpdateEnabled) ? { autoUpdateEnabled: device?.autoUpdateEnabled ?? false } : {}),
  };
}

export const bulkJobRoutes: readonly Route[] = [create, list, get, cancel];
