import { keyScopes, permissionSentences, permissions, permissionsOfScope } from "@muster/kit";
import type { Role } from "@muster/proto/muster/identity/v1/role_pb";
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
  success,
  timeOf,
  timeOut,
} from "../fields/schemas.ts";

const tag = "Roles";
const read = { auth: "session", permission: "roles:read" } as const;
const write = { auth: "session", permission: "roles:write", mfa: true } as const;

const scope = z.enum(["system", "partner", "organization"]);

const role = z
  .object({
    id: idOut,
    key: z
      .string()
      .nullable()
      .meta({ description: "Key of a seeded role, which cannot be changed; null for other roles." }),
    name: z.string(),
    description: z.string(),
    scope: scope.meta({ description: "Scope of the users who can have the role." }),
    permissions: z.array(z.string()),
    partnerId: idOut.nullable().meta({ description: "Owner of the role; null for seeded roles." }),
    orgId: idOut.nullable().meta({ description: "Organization that owns the role; null for a partner's role." }),
    createdAt: timeOut,
    updatedAt: timeOut,
  })
  .meta({ id: "Role" });

const permissionsIn = z
  .array(z.enum(permissions))
  .max(permissions.length)
  .meta({ description: "A caller can only grant permissions that they hold." });
const descriptionIn = z.string().trim().max(1000);

const list = route({
  method: "GET",
  path: "/roles",
  access: read,
  tag,
  summary: "Roles that the caller may assign: seeded ones first, then by name",
  query: listQuery.extend({
    partnerId: id.optional().meta({ description: "Only roles that users of this partner can have." }),
    orgId: id.optional().meta({ description: "Only roles that users of this organization can have." }),
    scope: scope.optional().meta({ description: only.equal }),
  }),
  reply: z.object({ data: z.array(role), pagination }),
  errors: ["partner_not_found", "organization_not_found"],
  async handle({ query, rpc }, { services }) {
    const { partnerId = "", orgId = "", scope: of = "" } = query;
    const reply = await services.roles.listRoles({ page: pageOf(query), partnerId, orgId, scope: of }, await rpc());
    return { data: reply.roles.map(roleOf), pagination: paginationOf(reply.page) };
  },
});

const get = route({
  method: "GET",
  path: "/roles/:id",
  access: read,
  tag,
  summary: "One role",
  params: idParams,
  reply: role,
  errors: ["role_not_found"],
  async handle({ params, rpc }, { services }) {
    return roleOf((await services.roles.getRole({ id: params.id }, await rpc())).role);
  },
});

const create = route({
  method: "POST",
  path: "/roles",
  access: write,
  audit: "role.create",
  tag,
  summary: "Create a role",
  description:
    "With `orgId` an organization's role, with `partnerId` alone a partner's, without either, a role of the caller's own scope. " +
    "A partner's role is for the partner's users, or with `scope: organization` for the users of all its organizations.",
  body: z.object({
    name: nameIn,
    description: descriptionIn.nullish(),
    permissions: permissionsIn,
    scope: z.enum(["partner", "organization"]).nullish(),
    partnerId: id.nullish(),
    orgId: id.nullish(),
  }),
  example: { name: "Readers of devices", orgId: exampleId, permissions: ["devices:read"] },
  idempotent: true,
  status: 201,
  reply: role,
  errors: [
    "scope_not_allowed",
    "partner_id_required",
    "partner_not_found",
    "organization_not_found",
    "site_restricted",
    "delegation_denied",
    "name_taken",
    "limit_reached",
  ],
  async handle({ body, rpc }, { services }) {
    const wanted = {
      name: body.name,
      description: body.description ?? "",
      permissions: body.permissions,
      scope: body.scope ?? "",
      partnerId: body.partnerId ?? "",
      orgId: body.orgId ?? "",
    };
    return roleOf((await services.roles.createRole(wanted, await rpc())).role);
  },
});

const update = route({
  method: "PATCH",
  path: "/roles/:id",
  access: write,
  audit: "role.update",
  tag,
  summary: "Change a role",
  description: "In force for every user with the role before the reply is sent.",
  params: idParams,
  body: z.object({
    name: nameIn.optional(),
    description: descriptionIn.nullish(),
    permissions: permissionsIn.optional(),
  }),
  example: { description: "May look at devices" },
  reply: role,
  errors: [
    "no_updates",
    "role_not_found",
    "role_immutable",
    "scope_not_allowed",
    "site_restricted",
    "delegation_denied",
    "name_taken",
    "last_administrator",
  ],
  async handle({ params, body, rpc }, { services }) {
    const updateMask = maskOf(body, { name: "name", description: "description", permissions: "permissions" });
    const { name = "", permissions: held = [] } = body;
    const wanted = { name, description: body.description ?? "", permissions: held };
    const reply = await services.roles.updateRole({ id: params.id, updateMask, role: wanted }, await rpc());
    return roleOf(reply.role);
  },
});

const remove = route({
  method: "DELETE",
  path: "/roles/:id",
  access: write,
  audit: "role.delete",
  tag,
  summary: "Delete a role without users",
  params: idParams,
  reply: success,
  errors: [
    "role_not_found",
    "role_immutable",
    "role_in_use",
    "scope_not_allowed",
    "site_restricted",
    "delegation_denied",
  ],
  async handle({ params, rpc }, { services }) {
    await services.roles.deleteRole({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

const allPermissions = route({
  method: "GET",
  path: "/permissions",
  access: read,
  tag,
  summary: "Every permission that a role can hold",
  reply: z.object({
    data: z.array(
      z.object({
        permission: z.enum(permissions),
        description: z.string(),
        keyScopes: z
          .array(z.string())
          .meta({ description: "Scopes of API keys that require this permission of the granting caller." }),
      }),
    ),
  }),
  handle: () => ({
    data: permissions.map((permission) => ({
      permission,
      description: permissionSentences[permission],
      keyScopes: keyScopes.filter((key) => permissionsOfScope(key).includes(permission)),
    })),
  }),
});

function roleOf(message: Role | undefined): z.input<typeof role> {
  if (!message) throw new Error("identity answered without a role");
  return {
    id: message.id,
    key: message.key || null,
    name: message.name,
    description: message.description,
    scope: scope.parse(message.scope),
    permissions: message.permissions,
    partnerId: message.partnerId || null,
    orgId: message.orgId || null,
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
  };
}

export const roleRoutes: readonly Route[] = [list, get, create, update, remove, allPermissions];
