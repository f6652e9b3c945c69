import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { maskOf } from "../fields/field-mask.ts";
import {
  exampleId,
  flag,
  flagOf,
  id,
  idParams,
  listQuery,
  nameIn,
  only,
  pageOf,
  pagination,
  paginationOf,
  success,
} from "../fields/schemas.ts";
import { inviteUrl, orgAccess, siteIdsIn, user, userPaths, userStatus } from "./user-fields.ts";
import { inviteUrlOf, userOf } from "./user-replies.ts";

const tag = "Users";
const read = { auth: "session", permission: "users:read" } as const;
const write = { auth: "session", permission: "users:write", mfa: true } as const;

const invite = route({
  method: "POST",
  path: "/users",
  access: write,
  audit: "user.create",
  tag,
  summary: "Invite a user",
  description:
    "With `orgId` an organization user, with `partnerId` alone a partner user, without either, a user of the caller's own scope. " +
    "A caller can only grant permissions that they hold. An address whose account the caller cannot see is invited like any other; " +
    "one in a domain that another tenant has verified is refused.",
  body: z.object({
    email: z.email().max(255),
    name: nameIn,
    partnerId: id.nullish(),
    orgId: id.nullish(),
    roleId: id,
    orgAccess: orgAccess
      .nullish()
      .meta({ description: "Only for users of a partner; without it, `selected` with `orgIds`, else `none`." }),
    orgIds: z.array(id).max(500).nullish(),
    siteIds: siteIdsIn,
  }),
  example: { email: "ada@example.com", name: "Ada", orgId: exampleId, roleId: exampleId },
  idempotent: true,
  noStore: true,
  status: 201,
  reply: user.extend({ inviteUrl }),
  errors: [
    "role_not_found",
    "partner_not_found",
    "organization_not_found",
    "site_not_found",
    "site_restricted",
    "delegation_denied",
    "email_taken",
    "domain_not_allowed",
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
    return { ...userOf(created), ...inviteUrlOf(publicUrl, inviteToken) };
  },
});

const list = route({
  method: "GET",
  path: "/users",
  access: read,
  tag,
  summary: "Visible users, newest first",
  query: listQuery.extend({
    partnerId: id.optional().meta({ description: only.partner }),
    orgId: id.optional().meta({ description: only.organization }),
    role: z
      .string()
      .max(255)
      .optional()
      .meta({ description: "Only records with this role: its id, or the key of a seeded one." }),
    status: userStatus.optional().meta({ description: only.equal }),
    mfaEnabled: flag.meta({ description: "Only records with a second factor, or only others." }),
    search: z.string().max(255).optional().meta({
      description:
        "Only records with a name or e-mail address that has a word beginning with each of these, at most 8 words, ignoring case.",
    }),
  }),
  reply: z.object({ data: z.array(user), pagination }),
  errors: ["partner_not_found", "organization_not_found"],
  async handle({ query, rpc }, { services }) {
    const { partnerId = "", orgId = "", role = "", status: of = "", search = "" } = query;
    const mfaEnabled = flagOf(query.mfaEnabled);
    const wanted = { page: pageOf(query), partnerId, orgId, role, status: of, mfaEnabled, query: search };
    const reply = await services.users.listUsers(wanted, await rpc());
    return { data: reply.users.map(userOf), pagination: paginationOf(reply.page) };
  },
});

const get = route({
  method: "GET",
  path: "/users/:id",
  access: read,
  tag,
  summary: "One user",
  params: idParams,
  reply: user,
  errors: ["user_not_found"],
  async handle({ params, rpc }, { services }) {
    return userOf((await services.users.getUser({ id: params.id }, await rpc())).user);
  },
});

const beyond = ["user_not_found", "site_restricted", "delegation_denied"] as const;

const update = route({
  method: "PATCH",
  path: "/users/:id",
  access: write,
  audit: "user.update",
  tag,
  summary: "Change a user's name, role, organizations or sites",
  description:
    "In force on every gateway before the reply is sent. A caller can only grant permissions that they hold, and only manage users who hold no more.",
  params: idParams,
  body: z.object({
    name: nameIn.optional(),
    roleId: id.optional(),
    orgAccess: orgAccess.optional().meta({ description: "Only for users of a partner." }),
    orgIds: z.array(id).max(500).optional().meta({ description: "Replaces the list; alone it means `selected`." }),
    siteIds: siteIdsIn,
  }),
  reply: user,
  errors: [
    ...beyond,
    "no_updates",
    "role_not_found",
    "organization_not_found",
    "site_not_found",
    "last_administrator",
    "managed_by_directory",
  ],
  async handle({ params, body, rpc }, { services }) {
    const { name = "", roleId = "", orgIds = [], siteIds } = body;
    const wanted = {
      name,
      roleId,
      orgAccess: body.orgAccess ?? "",
      orgIds,
      siteRestricted: siteIds != null,
      siteIds: siteIds ?? [],
    };
    const reply = await services.users.updateUser(
      { id: params.id, updateMask: maskOf(body, userPaths), user: wanted },
      await rpc(),
    );
    return userOf(reply.user);
  },
});

const disable = route({
  method: "POST",
  path: "/users/:id/disable",
  load: "vital",
  access: write,
  audit: "user.disable",
  tag,
  summary: "Disable a user",
  description: "Each of their sessions is refused everywhere before the reply is sent.",
  params: idParams,
  reply: user,
  errors: [...beyond, "last_administrator", "managed_by_directory"],
  async handle({ params, rpc }, { services }) {
    return userOf((await services.users.disableUser({ id: params.id }, await rpc())).user);
  },
});

const endSessions = route({
  method: "DELETE",
  path: "/users/:id/sessions",
  load: "vital",
  access: write,
  audit: "user.sessions.end",
  tag,
  summary: "End every session of a user",
  description: "Each is refused everywhere before the reply is sent. The user may sign in again.",
  params: idParams,
  reply: z.object({ ended: z.int().meta({ description: "Number of sessions that ended." }) }),
  errors: beyond,
  async handle({ params, rpc }, { services }) {
    const { ended } = await services.users.endUserSessions({ id: params.id }, await rpc());
    return { ended };
  },
});

const resetFactors = route({
  method: "DELETE",
  path: "/users/:id/factors",
  load: "vital",
  access: write,
  audit: "user.factors.reset",
  tag,
  summary: "Remove every second factor of a user",
  description:
    "Removes authenticator app, passkeys and recovery codes, and ends every session everywhere before the reply is sent. The user signs in " +
    "without a second factor, enrolls a new one, and is notified by mail.",
  params: idParams,
  reply: z.object({
    totp: z.boolean().meta({ description: "Whether an authenticator app was removed." }),
    passkeys: z.int().meta({ description: "Number of passkeys that were removed." }),
    ended: z.int().meta({ description: "Number of sessions that ended." }),
  }),
  errors: beyond,
  async handle({ params, rpc }, { services }) {
    const { totp, passkeys, ended } = await services.users.resetUserFactors({ id: params.id }, await rpc());
    return { totp, passkeys, ended };
  },
});

const enable = route({
  method: "POST",
  path: "/users/:id/enable",
  access: write,
  audit: "user.enable",
  tag,
  summary: "Enable a disabled user",
  description: "The user signs in again; a user who never accepted the invitation is invited again.",
  params: idParams,
  reply: user,
  errors: [...beyond, "managed_by_directory"],
  async handle({ params, rpc }, { services }) {
    return userOf((await services.users.enableUser({ id: params.id }, await rpc())).user);
  },
});

const inviteAgain = route({
  method: "POST",
  path: "/users/:id/invite",
  access: write,
  audit: "user.invite",
  tag,
  summary: "Resend the invitation of a user who has not accepted yet",
  description: "Earlier invitations stop working.",
  params: idParams,
  idempotent: true,
  noStore: true,
  reply: user.extend({ inviteUrl }),
  errors: [...beyond, "invitation_accepted", "user_disabled", "domain_not_allowed"],
  async handle({ params, rpc }, { services, publicUrl }) {
    const { user: invited, inviteToken } = await services.users.resendInvite({ id: params.id }, await rpc());
    return { ...userOf(invited), ...inviteUrlOf(publicUrl, inviteToken) };
  },
});

const remove = route({
  method: "DELETE",
  path: "/users/:id",
  load: "vital",
  access: write,
  audit: "user.delete",
  tag,
  summary: "Remove a user",
  description:
    "Removes sessions and second factors, too, everywhere before the reply is sent; the user's audit rows stay.",
  params: idParams,
  reply: success,
  errors: [...beyond, "last_administrator", "managed_by_directory"],
  async handle({ params, rpc }, { services }) {
    await services.users.deleteUser({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

export const userRoutes: readonly Route[] = [
  invite,
  list,
  get,
  update,
  disable,
  endSessions,
  resetFactors,
  enable,
  inviteAgain,
  remove,
];
