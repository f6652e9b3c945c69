import type { DeviceGroup } from "@muster/proto/muster/tenancy/v1/device_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { maskOf } from "../fields/field-mask.ts";
import {
  exampleId,
  id,
  idOut,
  idParams,
  listQuery,
  nameIn,
  only,
  pageOf,
  pagination,
  paginationOf,
  searchIn,
  success,
  timeOf,
  timeOut,
} from "../fields/schemas.ts";

const tag = "Device groups";
const read = { auth: "session", permission: "devices:read", keyScopes: ["devices:read"] } as const;
const write = { auth: "session", permission: "devices:write", keyScopes: ["devices:write"] } as const;

const group = z
  .object({
    id: idOut,
    orgId: idOut,
    siteId: idOut.nullable(),
    name: z.string(),
    createdAt: timeOut,
    updatedAt: timeOut,
  })
  .meta({ id: "DeviceGroup" });

const newGroup = z.object({
  orgId: id.optional().meta({ description: "Required unless the caller belongs to one organization." }),
  siteId: id
    .nullish()
    .meta({ description: "A site of the organization; without one the group is for the whole organization." }),
  name: nameIn,
});

const patch = z.object({ name: nameIn.optional(), siteId: id.nullish() });
const paths = { name: "name", siteId: "site_id" };

const members = z.object({ deviceIds: z.array(id).min(1).max(1_000) });
const memberParams = z.object({ id, deviceId: id });

const list = route({
  method: "GET",
  path: "/device-groups",
  access: read,
  tag,
  summary: "List device groups, newest first",
  query: listQuery.extend({
    orgId: id.optional().meta({ description: only.organization }),
    siteId: id.optional().meta({ description: only.site }),
    search: searchIn,
  }),
  reply: z.object({ data: z.array(group), pagination }),
  errors: ["organization_not_found", "site_not_found"],
  async handle({ query, rpc }, { services }) {
    const wanted = {
      page: pageOf(query),
      orgId: query.orgId ?? "",
      siteId: query.siteId ?? "",
      search: query.search ?? "",
    };
    const reply = await services.deviceGroups.listDeviceGroups(wanted, await rpc());
    return { data: reply.groups.map(groupOf), pagination: paginationOf(reply.page) };
  },
});

const create = route({
  method: "POST",
  path: "/device-groups",
  audit: "device_group.create",
  access: write,
  tag,
  summary: "Create a device group",
  body: newGroup,
  example: { orgId: exampleId, name: "Web servers" },
  status: 201,
  idempotent: true,
  reply: group,
  errors: ["organization_context_required", "organization_not_found", "site_not_found", "site_restricted"],
  async handle({ body, rpc }, { services }) {
    const wanted = { orgId: body.orgId ?? "", siteId: body.siteId ?? "", name: body.name };
    const reply = await services.deviceGroups.createDeviceGroup(wanted, await rpc());
    return groupOf(reply.group);
  },
});

const get = route({
  method: "GET",
  path: "/device-groups/:id",
  access: read,
  tag,
  summary: "One device group",
  params: idParams,
  reply: group,
  errors: ["device_group_not_found"],
  async handle({ params, rpc }, { services }) {
    const reply = await services.deviceGroups.getDeviceGroup({ id: params.id }, await rpc());
    return groupOf(reply.group);
  },
});

const update = route({
  method: "PATCH",
  path: "/device-groups/:id",
  audit: "device_group.update",
  access: write,
  tag,
  summary: "Change a device group",
  params: idParams,
  body: patch,
  reply: group,
  errors: ["no_updates", "device_group_not_found", "site_not_found", "site_restricted"],
  async handle({ params, body, rpc }, { services }) {
    const wanted = { ...body, siteId: body.siteId ?? "" };
    const request = { id: params.id, updateMask: maskOf(body, paths), group: wanted };
    const reply = await services.deviceGroups.updateDeviceGroup(request, await rpc());
    return groupOf(reply.group);
  },
});

const remove = route({
  method: "DELETE",
  path: "/device-groups/:id",
  audit: "device_group.delete",
  access: { auth: "session", permission: "devices:delete", keyScopes: ["devices:write"] },
  tag,
  summary: "Delete a device group",
  description: "The group's devices stay.",
  params: idParams,
  reply: success,
  errors: ["device_group_not_found"],
  async handle({ params, rpc }, { services }) {
    await services.deviceGroups.deleteDeviceGroup({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

const addDevices = route({
  method: "POST",
  path: "/device-groups/:id/devices",
  audit: "device_group.update",
  access: write,
  tag,
  summary: "Add devices to a group",
  description: "Adds all of them, or none when one is missing. `added` counts the new members.",
  params: idParams,
  body: members,
  idempotent: true,
  reply: z.object({ added: z.int() }),
  errors: ["device_group_not_found", "device_not_found", "device_decommissioned"],
  async handle({ params, body, rpc }, { services }) {
    const wanted = { groupId: params.id, deviceIds: body.deviceIds };
    const { added } = await services.deviceGroups.addDevices(wanted, await rpc());
    return { added };
  },
});

const removeDevices = route({
  method: "DELETE",
  path: "/device-groups/:id/devices",
  audit: "device_group.update",
  access: write,
  tag,
  summary: "Remove devices from a group",
  params: idParams,
  body: members,
  reply: success,
  errors: ["device_group_not_found", "device_not_found"],
  async handle({ params, body, rpc }, { services }) {
    await services.deviceGroups.removeDevices({ groupId: params.id, deviceIds: body.deviceIds }, await rpc());
    return { success: true as const };
  },
});

const removeDevice = route({
  method: "DELETE",
  path: "/device-groups/:id/devices/:deviceId",
  audit: "device_group.update",
  access: write,
  tag,
  summary: "Remove one device from a group",
  params: memberParams,
  reply: success,
  errors: ["device_group_not_found", "device_not_found"],
  async handle({ params, rpc }, { services }) {
    await services.deviceGroups.removeDevices({ groupId: params.id, deviceIds: [params.deviceId] }, await rpc());
    return { success: true as const };
  },
});

function groupOf(message: DeviceGroup | undefined): z.input<typeof group> {
  if (!message) throw new Error("tenancy answered without a device group");
  return {
    id: message.id,
    orgId: message.orgId,
    siteId: message.siteId || null,
    name: message.name,
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
  };
}

export const deviceGroupRoutes: readonly Route[] = [
  list,
  create,
  get,
  update,
  remove,
  addDevices,
  removeDevices,
  removeDevice,
];
