import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { maskOf } from "../fields/field-mask.ts";
import {
  exampleId,
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
import {
  directory,
  directoryOf,
  directoryPreset,
  directoryPresetOf,
  directoryWithToken,
  status,
} from "./directories-replies.ts";

const tag = "Directories";
/** Properties shared by every route of a directory. */
export const read = { auth: "session", permission: "directory:read" } as const;
export const write = { auth: "session", permission: "directory:write", mfa: true } as const;
export const onOneErrors = ["directory_not_found", "scope_not_allowed", "site_restricted"] as const;

const warning = "Store the token now: it is not shown again.";
const namedErrors = ["role_not_found", "delegation_denied", "sso_provider_not_found", "name_taken"] as const;

const fields = {
  preset: z.string().max(64).nullish().meta({ description: "Id of a preset." }),
  providerId: id.nullish().meta({ description: "Provider of the same owner; it has one directory at most." }),
  defaultRoleId: id
    .nullish()
    .meta({ description: "Role of users whom no mapping matches; the caller must hold its permissions." }),
};

const presets = route({
  method: "GET",
  path: "/directories/presets",
  access: read,
  tag,
  summary: "Products with a step-by-step guide",
  reply: z.object({ data: z.array(directoryPreset) }),
  async handle({ rpc }, { services }) {
    return { data: (await services.directories.listDirectoryPresets({}, await rpc())).presets.map(directoryPresetOf) };
  },
});

const list = route({
  method: "GET",
  path: "/directories",
  access: read,
  tag,
  summary: "Directories of accessible organizations, newest first",
  description: "`scope=partner`: the partner's own, for callers of scope partner.",
  query: listQuery.extend({
    orgId: id.optional().meta({ description: only.organization }),
    scope: z.enum(["partner"]).optional().meta({ description: "Only records of the partner itself." }),
  }),
  reply: z.object({ data: z.array(directory), pagination }),
  errors: ["organization_not_found", "scope_not_allowed"],
  async handle({ query, rpc }, { services, publicUrl }) {
    const wanted = { page: pageOf(query), orgId: query.orgId ?? "", scope: query.scope ?? "" };
    const reply = await services.directories.listDirectories(wanted, await rpc());
    return {
      data: reply.directories.map((one) => directoryOf(one, publicUrl)),
      pagination: paginationOf(reply.page),
    };
  },
});

const get = route({
  method: "GET",
  path: "/directories/:id",
  access: read,
  tag,
  summary: "One directory, without its tokens' secrets",
  params: idParams,
  reply: directory,
  errors: ["directory_not_found"],
  async handle({ params, rpc }, { services, publicUrl }) {
    return directoryOf((await services.directories.getDirectory(params, await rpc())).directory, publicUrl);
  },
});

const create = route({
  method: "POST",
  path: "/directories",
  access: write,
  audit: "directory.create",
  tag,
  summary: "Create a directory with its first token",
  description:
    "`ownerScope` partner creates the partner's own, which needs `partner:policy` and access to all organizations; `orgId` is ignored then.",
  body: z.object({
    name: nameIn,
    ownerScope: z.enum(["organization", "partner"]).nullish(),
    orgId: id.nullish(),
    partnerId: id.nullish().meta({ description: "Partner of a partner's own directory, for callers of scope system." }),
    ...fields,
  }),
  example: { name: "Entra ID", orgId: exampleId, preset: "entra" },
  idempotent: true,
  noStore: true,
  status: 201,
  reply: directoryWithToken,
  errors: [
    ...namedErrors,
    "organization_context_required",
    "organization_not_found",
    "partner_id_required",
    "partner_not_found",
    "scope_not_allowed",
    "site_restricted",
    "limit_reached",
  ],
  async handle({ body, rpc }, { services, publicUrl }) {
    const { ownerScope, orgId, partnerId } = body;
    const owner = { ownerScope: ownerScope ?? "", orgId: orgId ?? "", partnerId: partnerId ?? "" };
    const wanted = { ...owner, input: inputOf(body) };
    const { directory: made, token } = await services.directories.createDirectory(wanted, await rpc());
    return { ...directoryOf(made, publicUrl), token, warning };
  },
});

const update = route({
  method: "PATCH",
  path: "/directories/:id",
  access: write,
  audit: "directory.update",
  tag,
  summary: "Change a directory",
  params: idParams,
  body: z.object({ name: nameIn.optional(), ...fields }),
  example: { name: "Entra ID" },
  reply: directory,
  errors: [...namedErrors, ...onOneErrors, "no_updates"],
  async handle({ params, body, rpc }, { services, publicUrl }) {
    const wanted = { id: params.id, updateMask: maskOf(body, paths), input: inputOf(body) };
    return directoryOf((await services.directories.updateDirectory(wanted, await rpc())).directory, publicUrl);
  },
});

const setStatus = route({
  method: "POST",
  path: "/directories/:id/status",
  access: write,
  audit: "directory.status.update",
  tag,
  summary: "Pause a directory, or let it go on",
  description: "Requests of a paused directory are refused with 503, and repeated by its client later.",
  params: idParams,
  body: z.object({ status }),
  example: { status: "paused" },
  reply: directory,
  errors: onOneErrors,
  async handle({ params, body, rpc }, { services, publicUrl }) {
    const wanted = { id: params.id, status: body.status };
    return directoryOf((await services.directories.setDirectoryStatus(wanted, await rpc())).directory, publicUrl);
  },
});

const rotate = route({
  method: "POST",
  path: "/directories/:id/tokens",
  access: write,
  audit: "directory.token.rotate",
  tag,
  summary: "Rotate the token of a directory",
  description: "Earlier tokens are accepted for `graceHours` more; with 0 they end at once.",
  params: idParams,
  body: z.object({
    graceHours: z.int().min(0).max(168).optional().meta({ description: "Hours, 0 to 168.", default: 24 }),
  }),
  example: { graceHours: 24 },
  idempotent: true,
  noStore: true,
  status: 201,
  reply: directoryWithToken,
  errors: onOneErrors,
  async handle({ params, body, rpc }, { services, publicUrl }) {
    const wanted = { id: params.id, graceHours: body.graceHours ?? 24 };
    const { directory: changed, token } = await services.directories.rotateDirectoryToken(wanted, await rpc());
    return { ...directoryOf(changed, publicUrl), token, warning };
  },
});

const revoke = route({
  method: "DELETE",
  path: "/directories/:id/tokens",
  access: write,
  audit: "directory.token.revoke",
  load: "vital",
  tag,
  summary: "Revoke all tokens of a directory at once",
  params: idParams,
  reply: success,
  errors: onOneErrors,
  async handle({ params, rpc }, { services }) {
    await services.directories.revokeDirectoryTokens(params, await rpc());
    return { success: true as const };
  },
});

const remove = route({
  method: "DELETE",
  path: "/directories/:id",
  access: write,
  audit: "directory.delete",
  tag,
  summary: "Delete a directory",
  description: "Its users stay and are managed by hand from then on; its groups and role mappings are deleted.",
  params: idParams,
  reply: success,
  errors: onOneErrors,
  async handle({ params, rpc }, { services }) {
    await services.directories.deleteDirectory(params, await rpc());
    return { success: true as const };
  },
});

const paths = { name: "name", preset: "preset", providerId: "provider_id", defaultRoleId: "default_role_id" } as const;

type Input = {
  name?: string | undefined;
  preset?: string | null | undefined;
  providerId?: string | null | undefined;
  defaultRoleId?: string | null | undefined;
};

const inputOf = ({ name, preset, providerId, defaultRoleId }: Input) => ({
  name: name ?? "",
  preset: preset ?? "",
  providerId: providerId ?? "",
  defaultRoleId: defaultRoleId ?? "",
});

export const directoryRoutes: readonly Route[] = [
  presets,
  list,
  get,
  create,
  update,
  setStatus,
  rotate,
  revoke,
  remove,
];
