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
  changes,
  fields,
  inputOf,
  mapping,
  providerBodyLimitBytes,
  providerPaths,
  providerStatus,
  ssoProvider,
  type,
} from "./provider-fields.ts";
import { presetOf, providerOf } from "./provider-replies.ts";

const tag = "Single sign-on";
/** Properties shared by every route of a provider. */
export const readProviders = { auth: "session", permission: "organizations:read" } as const;
export const writeProviders = { auth: "session", permission: "organizations:write", mfa: true } as const;

const presets = route({
  method: "GET",
  path: "/sso/presets",
  access: readProviders,
  tag,
  summary: "Presets with their scopes and attribute mappings",
  reply: z.object({
    data: z.array(
      z.object({
        id: z.string(),
        type,
        name: z.string(),
        issuerTemplate: z.string().nullable().meta({ description: "With placeholders such as {tenant}." }),
        ssoUrlTemplate: z.string().nullable(),
        scopes: z.string(),
        attributeMapping: mapping,
      }),
    ),
  }),
  async handle({ rpc }, { services }) {
    const reply = await services.ssoProviders.listSsoPresets({}, await rpc());
    return { data: reply.presets.map(presetOf) };
  },
});

const list = route({
  method: "GET",
  path: "/sso/providers",
  access: readProviders,
  tag,
  summary: "Providers of accessible organizations, newest first",
  description: "`scope=partner`: the partner's own, for callers of scope partner.",
  query: listQuery.extend({
    orgId: id.optional().meta({ description: only.organization }),
    scope: z.enum(["partner"]).optional().meta({ description: "Only records of the partner itself." }),
  }),
  reply: z.object({ data: z.array(ssoProvider), pagination }),
  errors: ["organization_not_found", "scope_not_allowed"],
  async handle({ query, rpc }, { services }) {
    const wanted = { page: pageOf(query), orgId: query.orgId ?? "", scope: query.scope ?? "" };
    const reply = await services.ssoProviders.listSsoProviders(wanted, await rpc());
    return { data: reply.providers.map(providerOf), pagination: paginationOf(reply.page) };
  },
});

const get = route({
  method: "GET",
  path: "/sso/providers/:id",
  access: readProviders,
  tag,
  summary: "One provider, without its secret",
  params: idParams,
  reply: ssoProvider,
  errors: ["sso_provider_not_found"],
  async handle({ params, rpc }, { services }) {
    return providerOf((await services.ssoProviders.getSsoProvider(params, await rpc())).provider);
  },
});

const checkedErrors = [
  "role_not_found",
  "delegation_denied",
  "site_restricted",
  "scope_not_allowed",
  "sso_discovery_failed",
  "saml_metadata_invalid",
] as const;

const create = route({
  method: "POST",
  path: "/sso/providers",
  access: writeProviders,
  audit: "sso.provider.create",
  auditResource: "sso_provider",
  deadline: "report",
  tag,
  summary: "Create a provider, inactive at first",
  description:
    "`ownerScope` partner creates the partner's own, which needs `partner:policy` and access to all organizations; `orgId` is ignored then.",
  body: z.object({
    name: nameIn,
    type,
    ownerScope: z.enum(["organization", "partner"]).nullish(),
    orgId: id.nullish(),
    partnerId: id.nullish().meta({ description: "Partner of a partner's own provider, for callers of scope system." }),
    ...fields,
  }),
  example: {
    name: "Acme directory",
    type: "oidc",
    orgId: exampleId,
    preset: "oidc-directory",
    issuer: "https://login.acme.example/v2.0",
    clientId: "muster",
    clientSecret: "as the provider gave it",
    defaultRoleId: exampleId,
  },
  bodyLimitBytes: providerBodyLimitBytes,
  idempotent: true,
  status: 201,
  reply: ssoProvider,
  errors: [
    ...checkedErrors,
    "organization_context_required",
    "organization_not_found",
    "partner_id_required",
    "partner_not_found",
    "limit_reached",
  ],
  async handle({ body, rpc }, { services }) {
    const { ownerScope, orgId, partnerId, type: of, ...rest } = body;
    const owner = { ownerScope: ownerScope ?? "", orgId: orgId ?? "", partnerId: partnerId ?? "" };
    const wanted = { ...owner, input: { ...inputOf(rest), type: of } };
    return providerOf((await services.ssoProviders.createSsoProvider(wanted, await rpc())).provider);
  },
});

const update = route({
  method: "PATCH",
  path: "/sso/providers/:id",
  access: writeProviders,
  audit: "sso.provider.update",
  auditResource: "sso_provider",
  deadline: "report",
  tag,
  summary: "Change a provider",
  description: "Ends every sign-in in flight through it. A new issuer is discovered first. The type is fixed.",
  params: idParams,
  body: changes,
  example: { allowedDomains: "acme.example", enforceSSO: true },
  bodyLimitBytes: providerBodyLimitBytes,
  reply: ssoProvider,
  errors: [...checkedErrors, "no_updates", "sso_provider_not_found", "sso_incomplete_provider"],
  async handle({ params, body, rpc }, { services }) {
    const wanted = { id: params.id, updateMask: maskOf(body, providerPaths), input: inputOf(body) };
    return providerOf((await services.ssoProviders.updateSsoProvider(wanted, await rpc())).provider);
  },
});

const remove = route({
  method: "DELETE",
  path: "/sso/providers/:id",
  access: writeProviders,
  audit: "sso.provider.delete",
  auditResource: "sso_provider",
  tag,
  summary: "Delete a provider with its links and sign-ins in flight",
  params: idParams,
  reply: success,
  errors: ["sso_provider_not_found", "site_restricted", "scope_not_allowed"],
  async handle({ params, rpc }, { services }) {
    await services.ssoProviders.deleteSsoProvider(params, await rpc());
    return { success: true as const };
  },
});

const setStatus = route({
  method: "POST",
  path: "/sso/providers/:id/status",
  access: writeProviders,
  audit: "sso.provider.status.update",
  auditResource: "sso_provider",
  tag,
  summary: "Set a provider inactive, testing or active",
  description:
    "With `testing` no user can sign in; administrators can link their own account through it, which runs every check.",
  params: idParams,
  body: z.object({ status: providerStatus }),
  example: { status: "active" },
  reply: ssoProvider,
  errors: ["sso_provider_not_found", "sso_incomplete_provider", "site_restricted", "scope_not_allowed"],
  async handle({ params, body, rpc }, { services }) {
    const wanted = { id: params.id, status: body.status };
    return providerOf((await services.ssoProviders.setSsoProviderStatus(wanted, await rpc())).provider);
  },
});

export const ssoProviderRoutes: readonly Route[] = [presets, list, get, create, update, remove, setStatus];
