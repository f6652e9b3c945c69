import type { Device } from "@muster/proto/muster/tenancy/v1/device_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { arch, libc, os, updateReport } from "../fields/agent-builds.ts";
import { maskOf } from "../fields/field-mask.ts";
import {
  id,
  idOut,
  idParams,
  listQuery,
  nameIn,
  pageOf,
  pagination,
  paginationOf,
  success,
  timeOf,
  timeOrNull,
  timeOut,
} from "../fields/schemas.ts";
import { component } from "../releases/agent-versions.ts";
import { deviceFilters, deviceStatus, filterRequest, updateState } from "./device-filters.ts";

const tag = "Devices";
const read = { auth: "session", permission: "devices:read", keyScopes: ["devices:read"] } as const;
const write = { auth: "session", permission: "devices:write", keyScopes: ["devices:write"] } as const;

const reportedUpdate = z.object({
  component,
  version: z.string(),
  state: updateReport,
  error: z.string().optional(),
  bytesDone: z.int().optional(),
  bytesTotal: z.int().optional(),
});

const device = z
  .object({
    id: idOut,
    orgId: idOut,
    siteId: idOut.nullable(),
    groupIds: z.array(idOut),
    hostname: z.string(),
    os,
    arch,
    libc: libc.nullable().meta({ description: "C library of a Linux machine, as its agent reports it." }),
    agentVersion: z.string(),
    watchdogVersion: z.string().nullable(),
    helperVersion: z.string().nullable(),
    status: deviceStatus.meta({ description: "Quarantined: enrolled with the hardware id of another active device." }),
    lastSeenAt: timeOut.nullable(),
    lastIpAddress: z.string().nullable(),
    autoUpdateEnabled: z.boolean(),
    updateState: updateState.nullable().meta({
      description:
        "How its versions stand to their targets, as of the last heartbeat whose updates were decided: at most 15 minutes ago " +
        "while it is online. Null when no component has a target.",
    }),
    hardwareId: z.string().nullable(),
    serialNumber: z.string().nullable(),
    labels: z.record(z.string(), z.string()),
    quarantineReason: z.string().nullable(),
    enrollmentKeyId: idOut
      .nullable()
      .meta({ description: "Key that it enrolled with; null when that was deleted, and for older enrollments." }),
    reported: z
      .object({
        status: z.string().optional(),
        metrics: z.record(z.string(), z.number()).optional(),
        ipAddresses: z.array(z.string()).optional(),
        update: reportedUpdate.optional(),
      })
      .nullable()
      .meta({ description: "Facts that its agent last reported." }),
    createdAt: timeOut,
    updatedAt: timeOut,
  })
  .meta({ id: "Device" });

const filters = listQuery.extend({
  ...deviceFilters.shape,
  sort: z.enum(["hostname", "-hostname", "lastSeenAt", "-lastSeenAt"]).optional().meta({
    description:
      "Field to sort by, descending with `-`; without it, the newest come first. Reads all visible devices and is refused after 3 s.",
    example: "hostname",
  }),
});

const sorts = { hostname: "hostname", "-hostname": "-hostname", lastSeenAt: "last_seen", "-lastSeenAt": "-last_seen" };

const patch = z.object({
  siteId: id.nullish().meta({ description: "A site of the same organization; null removes the device from its site." }),
  hostname: nameIn.optional(),
  autoUpdateEnabled: z.boolean().optional(),
});

const paths = { siteId: "site_id", hostname: "hostname", autoUpdateEnabled: "auto_update_enabled" };

const list = route({
  method: "GET",
  path: "/devices",
  access: read,
  tag,
  summary: "List devices, newest first unless sorted",
  query: filters,
  reply: z.object({ data: z.array(device), pagination }),
  errors: ["organization_not_found", "site_not_found", "device_group_not_found"],
  async handle({ query, rpc }, { services }) {
    const sort = query.sort ? sorts[query.sort] : "";
    // After the filters: the query has a `page`, too.
    const wanted = { ...filterRequest(query), page: pageOf(query), sort };
    const reply = await services.devices.listDevices(wanted, await rpc());
    return { data: reply.devices.map(deviceOf), pagination: paginationOf(reply.page) };
  },
});

const statusCount = z.object({
  status: deviceStatus,
  count: z.int(),
  isEstimate: z.boolean().meta({ description: "Counts above 50,000 devices are estimates." }),
});

const summary = route({
  method: "GET",
  path: "/devices/summary",
  access: read,
  tag,
  summary: "Number of devices by status",
  query: z.object({ orgId: filters.shape.orgId, siteId: filters.shape.siteId, groupId: filters.shape.groupId }),
  reply: z.object({ byStatus: z.array(statusCount) }),
  errors: ["organization_not_found", "site_not_found", "device_group_not_found"],
  async handle({ query: { orgId = "", siteId = "", groupId = "" }, rpc }, { services }) {
    const { counts } = await services.devices.countDevices({ orgId, siteId, groupId }, await rpc());
    return {
      byStatus: counts.map((each) => ({
        status: deviceStatus.parse(each.status),
        count: Number(each.count),
        isEstimate: each.isEstimate,
      })),
    };
  },
});

const get = route({
  method: "GET",
  path: "/devices/:id",
  access: read,
  tag,
  summary: "One device",
  params: idParams,
  reply: device,
  errors: ["device_not_found"],
  async handle({ params, rpc }, { services }) {
    const reply = await services.devices.getDevice({ id: params.id }, await rpc());
    return deviceOf(reply.device);
  },
});

const update = route({
  method: "PATCH",
  path: "/devices/:id",
  audit: "device.update",
  access: write,
  tag,
  summary: "Change a device",
  params: idParams,
  body: patch,
  example: { hostname: "web-01" },
  reply: device,
  errors: ["no_updates", "device_not_found", "site_not_found", "site_restricted", "device_decommissioned"],
  async handle({ params, body, rpc }, { services }) {
    const wanted = { ...body, siteId: body.siteId ?? "" };
    const request = { id: params.id, updateMask: maskOf(body, paths), device: wanted };
    const reply = await services.devices.updateDevice(request, await rpc());
    return deviceOf(reply.device);
  },
});

const decommission = route({
  method: "DELETE",
  path: "/devices/:id",
  audit: "device.delete",
  access: { auth: "session", permission: "devices:delete", keyScopes: ["devices:write"] },
  tag,
  summary: "Decommission a device",
  description:
    "The record stays and no longer counts against any limit. The token of its agent is refused from then on.",
  params: idParams,
  reply: success,
  errors: ["device_not_found"],
  async handle({ params, rpc }, { services }) {
    await services.devices.decommissionDevice({ id: params.id }, await rpc());
    // The device's event also ends the token; the reply waits until no gateway admits it any more.
    await services.agents.endAgent({ deviceId: params.id }, await rpc());
    return { success: true as const };
  },
});

const approve = route({
  method: "POST",
  path: "/devices/:id/approve",
  audit: "device.update",
  access: write,
  tag,
  summary: "Trust a quarantined device",
  description:
    "A device that is not quarantined stays unchanged. `replace` and `merge` need permission `devices:delete`, too.",
  params: idParams,
  body: z.object({
    replace: z.boolean().optional().meta({
      description: "Decommission the device that has the same hardware id; without it both stay.",
    }),
    merge: z.boolean().optional().meta({
      description:
        "As `replace`, and take over its site, groups, labels, update setting and the name that people gave it.",
    }),
  }),
  reply: device,
  errors: ["device_not_found", "device_decommissioned", "permission_denied"],
  async handle({ params, body, rpc }, { services }) {
    const { replace = false, merge = false } = body;
    const reply = await services.devices.approveDevice({ id: params.id, replace, merge }, await rpc());
    return deviceOf(reply.device);
  },
});

const reject = route({
  method: "POST",
  path: "/devices/:id/reject",
  audit: "device.delete",
  access: { auth: "session", permission: "devices:delete", keyScopes: ["devices:write"] },
  tag,
  summary: "Decommission a quarantined device",
  params: idParams,
  reply: success,
  errors: ["device_not_found", "device_decommissioned", "device_not_quarantined"],
  async handle({ params, rpc }, { services }) {
    await services.devices.rejectDevice({ id: params.id }, await rpc());
    await services.agents.endAgent({ deviceId: params.id }, await rpc());
    return { success: true as const };
  },
});

const autoUpdate = route({
  method: "POST",
  path: "/devices/:id/auto-update",
  audit: "device.update",
  access: write,
  tag,
  summary: "Turn a device's agent updates on or off",
  params: idParams,
  body: z.object({ enabled: z.boolean() }),
  example: { enabled: false },
  reply: z.object({ id: idOut, autoUpdateEnabled: z.boolean() }),
  errors: ["device_not_found", "device_decommissioned"],
  async handle({ params, body, rpc }, { services }) {
    const updateMask = { paths: [paths.autoUpdateEnabled] };
    const request = { id: params.id, updateMask, device: { autoUpdateEnabled: body.enabled } };
    const { id, autoUpdateEnabled } = deviceOf((await services.devices.updateDevice(request, await rpc())).device);
    return { id, autoUpdateEnabled };
  },
});

function deviceOf(message: Device | undefined): z.input<typeof device> {
  if (!message) throw new Error("tenancy answered without a device");
  return {
    id: message.id,
    orgId: message.orgId,
    siteId: message.siteId || null,
    groupIds: message.groupIds,
    hostname: message.hostname,
    os: os.parse(message.os),
    arch: arch.parse(message.arch),
    libc: message.libc ? libc.parse(message.libc) : null,
    agentVersion: message.agentVersion,
    watchdogVersion: message.watchdogVersion || null,
    helperVersion: message.helperVersion || null,
    status: deviceStatus.parse(message.status),
    lastSeenAt: timeOrNull(message.lastSeenAt),
    lastIpAddress: message.lastIpAddress || null,
    autoUpdateEnabled: message.autoUpdateEnabled,
    updateState: message.updateState ? updateState.parse(message.updateState) : null,
    hardwareId: message.hardwareId || null,
    serialNumber: message.serialNumber || null,
    labels: message.labels,
    quarantineReason: message.quarantineReason || null,
    enrollmentKeyId: message.enrollmentKeyId || null,
    reported: message.reportedJson === "" ? null : JSON.parse(message.reportedJson),
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
  };
}

export const deviceRoutes: readonly Route[] = [list, summary, get, update, decommission, approve, reject, autoUpdate];
