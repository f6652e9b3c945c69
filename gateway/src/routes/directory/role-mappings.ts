import type { RoleMapping } from "@muster/proto/muster/identity/v1/directory_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import {
  exampleId,
  id,
  idOut,
  idParams,
  listQuery,
  pageOf,
  pagination,
  paginationOf,
  timeOf,
  timeOut,
  valuesIn,
} from "../fields/schemas.ts";
import { onOneErrors, read, write } from "./directories.ts";

const tag = "Directories";
const claim = z.string().min(1).max(255);

const group = z.object({
  id: idOut,
  name: z.string(),
  externalId: z.string().nullable(),
  members: z.int(),
  updatedAt: timeOut,
});

const mapping = z
  .object({
    id: idOut,
    groupId: idOut.nullable().meta({ description: "A group of the directory; null for a claim." }),
    groupName: z.string().nullable(),
    claim: z.string().nullable().meta({ description: "A value of the provider's groups claim; null for a group." }),
    roleId: idOut,
    role: z.string(),
    siteIds: z.array(idOut).nullable().meta({ description: "Sites that it limits users to; null: all." }),
    inert: z.boolean().meta({ description: "Whoever saved the row may not grant its role any more: save it again." }),
  })
  .meta({ id: "RoleMapping" });

const mappings = z.object({ data: z.array(mapping) });

const groups = route({
  method: "GET",
  path: "/directories/:id/groups",
  access: read,
  tag,
  summary: "Groups of a directory, newest first",
  params: idParams,
  query: listQuery,
  reply: z.object({ data: z.array(group), pagination }),
  errors: ["directory_not_found"],
  async handle({ params, query, rpc }, { services }) {
    const wanted = { id: params.id, page: pageOf(query) };
    const reply = await services.directories.listDirectoryGroups(wanted, await rpc());
    const data = reply.groups.map(({ id, name, externalId, members, updatedAt }) => ({
      id,
      name,
      externalId: externalId || null,
      members: Number(members),
      updatedAt: timeOf(updatedAt),
    }));
    return { data, pagination: paginationOf(reply.page) };
  },
});

const list = route({
  method: "GET",
  path: "/directories/:id/mappings",
  access: read,
  tag,
  summary: "Role mapping of a directory, in its order",
  params: idParams,
  reply: mappings,
  errors: ["directory_not_found"],
  async handle({ params, rpc }, { services }) {
    return { data: (await services.directories.listRoleMappings(params, await rpc())).mappings.map(mappingOf) };
  },
});

const put = route({
  method: "PUT",
  path: "/directories/:id/mappings",
  access: write,
  audit: "directory.mapping.update",
  deadline: "report",
  tag,
  summary: "Replace the role mapping of a directory",
  description:
    "The first row that matches a user decides the role; its sites are those of all matching rows of that role. The caller must hold what a new row grants. Roles have changed everywhere when this returns.",
  params: idParams,
  body: z.object({
    mappings: z
      .array(
        z.object({
          groupId: id.nullish(),
          claim: claim.nullish(),
          roleId: id,
          siteIds: z.array(id).min(1).max(500).nullish(),
        }),
      )
      .max(500),
  }),
  example: { mappings: [{ groupId: exampleId, roleId: exampleId }] },
  bodyLimitBytes: 256 * 1024,
  reply: mappings,
  errors: [...onOneErrors, "role_not_found", "site_not_found", "delegation_denied"],
  async handle({ params, body, rpc }, { services }) {
    const rows = body.mappings.map(({ groupId, claim, roleId, siteIds }) => ({
      groupId: groupId ?? "",
      claim: claim ?? "",
      roleId,
      siteRestricted: siteIds != null,
      siteIds: siteIds ?? [],
    }));
    const reply = await services.directories.putRoleMappings({ id: params.id, mappings: rows }, await rpc());
    return { data: reply.mappings.map(mappingOf) };
  },
});

const tryOut = route({
  method: "GET",
  path: "/directories/:id/mappings/try",
  access: read,
  tag,
  summary: "The role that a user with these groups would have",
  params: idParams,
  query: z.object({
    groupIds: valuesIn(id, 100).optional().meta({ description: "Groups of the directory, comma-separated." }),
    claims: valuesIn(claim, 100).optional().meta({ description: "Values of the groups claim, comma-separated." }),
  }),
  reply: z.object({
    roleId: idOut.nullable().meta({ description: "Null: no access." }),
    role: z.string().nullable(),
    siteIds: z.array(idOut).nullable(),
    mappingId: idOut.nullable().meta({ description: "The row that decides; null where none matches." }),
  }),
  errors: ["directory_not_found"],
  async handle({ params, query, rpc }, { services }) {
    const wanted = { id: params.id, groupIds: query.groupIds ?? [], claims: query.claims ?? [] };
    const reply = await services.directories.tryRoleMappings(wanted, await rpc());
    return {
      roleId: reply.roleId || null,
      role: reply.role || null,
      siteIds: reply.siteRestricted ? reply.siteIds : null,
      mappingId: reply.mappingId || null,
    };
  },
});

const requests = route({
  method: "GET",
  path: "/directories/:id/requests",
  access: read,
  tag,
  summary: "What a directory asked and how it was answered, newest first",
  description: "The newest 10,000 of the last 30 days; without values.",
  params: idParams,
  query: listQuery.extend({
    refused: z.enum(["true", "false"]).optional().meta({ description: "Only refused ones.", default: "false" }),
  }),
  reply: z.object({
    data: z.array(
      z.object({
        id: idOut,
        at: timeOut,
        operation: z.string().meta({ description: "Such as `PATCH /Users/:id`." }),
        resourceId: idOut.nullable(),
        filter: z.string().nullable().meta({ description: "Without the values that it compares with." }),
        answer: z.string().meta({ description: "`ok`, or the code of the refusal." }),
        scimType: z.string().nullable(),
        detail: z.string().nullable(),
        requestId: z.string().nullable(),
      }),
    ),
    pagination,
  }),
  errors: ["directory_not_found"],
  async handle({ params, query, rpc }, { services }) {
    const wanted = { id: params.id, page: pageOf(query), refused: query.refused === "true" };
    const reply = await services.directories.listDirectoryRequests(wanted, await rpc());
    const data = reply.requests.map((one) => ({
      id: one.id,
      at: timeOf(one.at),
      operation: one.operation,
      resourceId: one.resourceId || null,
      filter: one.filter || null,
      answer: one.outcome,
      scimType: one.scimType || null,
      detail: one.detail || null,
      requestId: one.requestId || null,
    }));
    return { data, pagination: paginationOf(reply.page) };
  },
});

const mappingOf = (message: RoleMapping): z.input<typeof mapping> => ({
  id: message.id,
  groupId: message.groupId || null,
  groupName: message.groupName || null,
  claim: message.claim || null,
  roleId: message.roleId,
  role: message.role,
  siteIds: message.siteRestricted ? message.siteIds : null,
  inert: message.inert,
});

export const roleMappingRoutes: readonly Route[] = [groups, list, put, tryOut, requests];
