import { permissions } from "@muster/kit";
import type { Role, User } from "@muster/proto/muster/identity/v1/user_pb";
import { z } from "zod";
import { type Route, route } from "../route.ts";
import {
  id,
  idOut,
  idParams,
  listQuery,
  pageOf,
  pagination,
  paginationOf,
  timeOf,
  timeOrNull,
  timeOut,
} from "./schemas.ts";

const tag = "Users";

const scope = z.enum(["system", "partner", "organization"]);
const orgAccess = z.enum(["all", "selected", "none"]);
const status = z.enum(["invited", "active", "disabled"]);

const user = z
  .object({
    id: idOut,
    email: z.string(),
    name: z.string(),
    department: z.string().nullable(),
    scope,
    partnerId: idOut.nullable(),
    orgId: idOut.nullable(),
    roleId: idOut,
    role: z.string().meta({ description: "Key of a seeded role, name of another." }),
    orgAccess: orgAccess.nullable().meta({ description: "Null unless the scope is partner." }),
    orgIds: z.array(idOut).meta({ description: "Organizations granted when `orgAccess` is `selected`." }),
    siteIds: z.array(idOut).nullable().meta({ description: "Sites the person is limited to; null when not limited." }),
    status,
    mfaEnabled: z.boolean(),
    lastLoginAt: timeOut.nullable(),
    createdAt: timeOut,
    updatedAt: timeOut,
  })
  .meta({ id: "UserRecord" });

const role = z
  .object({
    id: idOut,
    key: z.string().nullable().meta({ description: "Of seeded roles only." }),
    name: z.string(),
    scope,
    permissions: z.array(z.string()),
    partnerId: idOut.nullable(),
    orgId: idOut.nullable(),
  })
  .meta({ id: "Role" });

const invite = route({
  method: "POST",
  path: "/users",
  access: { auth: "session", permission: "users:write", mfa: true },
  tag,
  summary: "Invite a person",
  description:
    "With `orgId` an organization user, with `partnerId` alone a partner user, with neither one of the caller's own place. " +
    "Nobody grants what they do not hold.",
  body: z.object({
    email: z.email().max(255),
    name: z.string().trim().min(1).max(255),
    partnerId: id.nullish(),
    orgId: id.nullish(),
    roleId: id,
    orgAccess: orgAccess.nullish().meta({ description: "Partner users: default selected with `orgIds`, else none." }),
    orgIds: z.array(id).max(500).nullish(),
    siteIds: z.array(id).max(500).nullish().meta({ description: "When any is given the person is limited to these." }),
  }),
  idempotent: true,
  noStore: true,
  status: 201,
  reply: user.extend({
    inviteUrl: z.string().meta({ description: "Carries the invitation's token; single use, 7 days, shown this once." }),
  }),
  errors: [
    "role_not_found",
    "partner_not_found",
    "organization_not_found",
    "site_not_found",
    "site_restricted",
    "delegation_denied",
    "email_taken",
  ],
  async handle({ body, rpc }, { services, publicUrl }) {
    const wanted = {
      email: body.email,
      name: body.name,
      partnerId: body.partnerId ?? "",
      orgId: body.orgId ?? "",
      roleId: body.roleId,
      orgAccess: body.orgAccess ?? "",
      orgIds: body.orgIds ?? [],
      siteIds: body.siteIds ?? [],
    };
    const { user: created, inviteToken } = await services.users.inviteUser(wanted, await rpc());
    const inviteUrl = `${publicUrl}/accept-invite?token=${encodeURIComponent(inviteToken)}`;
    return { ...userOf(created), inviteUrl };
  },
});

const list = route({
  method: "GET",
  path: "/users",
  access: { auth: "session", permission: "users:read" },
  tag,
  summary: "People the caller may see, newest first",
  query: listQuery.extend({ partnerId: id.optional(), orgId: id.optional() }),
  reply: z.object({ data: z.array(user), pagination }),
  async handle({ query, rpc }, { services }) {
    const wanted = { page: pageOf(query), partnerId: query.partnerId ?? "", orgId: query.orgId ?? "" };
    const reply = await services.users.listUsers(wanted, await rpc());
    return { data: reply.users.map(userOf), pagination: paginationOf(reply.page) };
  },
});

const get = route({
  method: "GET",
  path: "/users/:id",
  access: { auth: "session", permission: "users:read" },
  tag,
  summary: "One person",
  params: idParams,
  reply: user,
  errors: ["user_not_found"],
  async handle({ params, rpc }, { services }) {
    return userOf((await services.users.getUser({ id: params.id }, await rpc())).user);
  },
});

const roles = route({
  method: "GET",
  path: "/roles",
  access: { auth: "session", permission: "roles:read" },
  tag,
  summary: "Roles the caller may see and assign",
  reply: z.object({ data: z.array(role) }),
  async handle({ rpc }, { services }) {
    const reply = await services.users.listRoles({}, await rpc());
    return { data: reply.roles.map(roleOf) };
  },
});

const allPermissions = route({
  method: "GET",
  path: "/permissions",
  access: { auth: "session", permission: "roles:read" },
  tag,
  summary: "Every permission that a role can hold",
  reply: z.object({ data: z.array(z.string()) }),
  handle: () => ({ data: [...permissions] }),
});

function userOf(message: User | undefined): z.input<typeof user> {
  if (!message) throw new Error("identity answered without a user");
  const place = scope.parse(message.scope);
  return {
    id: message.id,
    email: message.email,
    name: message.name,
    department: message.department || null,
    scope: place,
    partnerId: message.partnerId || null,
    orgId: message.orgId || null,
    roleId: message.roleId,
    role: message.role,
    orgAccess: place === "partner" ? orgAccess.parse(message.orgAccess) : null,
    orgIds: message.orgIds,
    siteIds: message.siteRestricted ? message.siteIds : null,
    status: status.parse(message.status),
    mfaEnabled: message.mfaEnabled,
    lastLoginAt: timeOrNull(message.lastLoginAt),
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
  };
}

function roleOf(message: Role): z.input<typeof role> {
  return {
    id: message.id,
    key: message.key || null,
    name: message.name,
    scope: scope.parse(message.scope),
    permissions: message.permissions,
    partnerId: message.partnerId || null,
    orgId: message.orgId || null,
  };
}

export const userRoutes: readonly Route[] = [invite, list, get, roles, allPermissions];
