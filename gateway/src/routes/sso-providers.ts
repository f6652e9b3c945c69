import type {
  SamlCertificate,
  SsoAttempt,
  SsoPreset,
  SsoProvider,
} from "@muster/proto/muster/identity/v1/sso_provider_pb";
import { z } from "zod";
import { type Route, route } from "../route.ts";
import { maskOf } from "./field-mask.ts";
import {
  exampleId,
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
  timeOut,
} from "./schemas.ts";

const tag = "Single sign-on";
const read = { auth: "session", permission: "organizations:read" } as const;
const write = { auth: "session", permission: "organizations:write", mfa: true } as const;

const type = z.enum(["oidc", "saml"]);
const status = z.enum(["inactive", "testing", "active"]);

const mapping = z
  .object({
    email: z.string().meta({ description: "Name of the claim or attribute." }),
    name: z.string(),
    firstName: z.string().optional().meta({ description: "Used with `lastName` when there is no name." }),
    lastName: z.string().optional(),
    groups: z.string().optional(),
  })
  .meta({ id: "AttributeMapping" });

const certificate = z
  .object({
    pem: z.string(),
    fingerprint: z.string().meta({ description: "SHA-256, hex." }),
    notBefore: timeOut,
    notAfter: timeOut,
    source: z.enum(["manual", "metadata"]),
  })
  .meta({ id: "SamlCertificate" });

export const ssoProvider = z
  .object({
    id: idOut,
    orgId: idOut.nullable().meta({ description: "Null for a partner's own provider." }),
    partnerId: idOut.nullable().meta({ description: "Of a partner's own provider alone." }),
    name: z.string(),
    type,
    status: status.meta({ description: "Only `active` providers are used for sign-in." }),
    preset: z.string().nullable(),
    issuer: z.string().nullable(),
    clientId: z.string().nullable(),
    hasClientSecret: z.boolean(),
    scopes: z.string(),
    attributeMapping: mapping,
    autoProvision: z.boolean(),
    defaultRoleId: idOut.nullable(),
    allowedDomains: z.string().meta({ description: "Comma-separated; empty means all." }),
    enforceSSO: z.boolean(),
    enforcement: z
      .object({
        inForce: z.boolean(),
        reason: z.enum(["not_wanted", "not_active", "not_proven"]).nullable(),
      })
      .meta({
        description:
          "What `enforceSSO` asks for comes into force when the provider is active and an administrator has signed in through it.",
      }),
    trustIdpMfa: z.boolean(),
    authorizationUrl: z.string().nullable(),
    tokenUrl: z.string().nullable(),
    userInfoUrl: z.string().nullable(),
    jwksUrl: z.string().nullable(),
    samlEntityId: z.string().nullable(),
    samlSsoUrl: z.string().nullable(),
    samlCertificates: z.array(certificate),
    samlMetadataUrl: z.string().nullable(),
    samlWantEncrypted: z.boolean(),
    callbackUrl: z.string().nullable().meta({ description: "To register at the identity provider (OpenID Connect)." }),
    samlAcsUrl: z.string().nullable().meta({ description: "The same for SAML." }),
    samlSpMetadataUrl: z.string().nullable(),
    createdBy: idOut,
    createdAt: timeOut,
    updatedAt: timeOut,
  })
  .meta({ id: "SsoProvider" });

const url = () => z.string().trim().max(500).nullish();
const claim = () => z.string().trim().min(1).max(255);

const fields = {
  preset: z.string().max(50).nullish().meta({ description: "Fills in scopes and mapping; see GET /sso/presets." }),
  issuer: url().meta({ description: "Discovered before anything is written." }),
  clientId: z.string().trim().max(500).nullish(),
  clientSecret: z
    .string()
    .max(1_000)
    .nullish()
    .meta({ description: "Kept sealed and never returned; null removes it." }),
  scopes: z.string().max(500).nullish().meta({ description: "Space-separated." }),
  attributeMapping: z
    .object({
      email: claim(),
      name: claim(),
      firstName: claim().nullish(),
      lastName: claim().nullish(),
      groups: claim().nullish(),
    })
    .nullish(),
  autoProvision: z.boolean().optional(),
  defaultRoleId: id.nullish(),
  allowedDomains: z.string().max(10_000).nullish(),
  enforceSSO: z.boolean().optional(),
  trustIdpMfa: z
    .boolean()
    .optional()
    .meta({ description: "A second factor at the identity provider counts as a completed challenge here." }),
  authorizationUrl: url(),
  tokenUrl: url(),
  userInfoUrl: url(),
  jwksUrl: url(),
  samlEntityId: z.string().trim().max(1_024).nullish(),
  samlSsoUrl: url(),
  samlCertificates: z.array(z.string().max(16_384)).max(10).nullish().meta({ description: "PEM." }),
  samlMetadataUrl: url(),
  samlMetadataXml: z.string().max(262_144).nullish(),
  samlWantEncrypted: z.boolean().optional(),
};
const changes = z.object({ name: nameIn.optional(), ...fields });

const paths = {
  name: "name",
  preset: "preset",
  issuer: "issuer",
  clientId: "client_id",
  clientSecret: "client_secret",
  scopes: "scopes",
  attributeMapping: "attribute_mapping",
  autoProvision: "auto_provision",
  defaultRoleId: "default_role_id",
  allowedDomains: "allowed_domains",
  enforceSSO: "enforce_sso",
  trustIdpMfa: "trust_idp_mfa",
  authorizationUrl: "authorization_url",
  tokenUrl: "token_url",
  userInfoUrl: "user_info_url",
  jwksUrl: "jwks_url",
  samlEntityId: "saml_entity_id",
  samlSsoUrl: "saml_sso_url",
  samlCertificates: "saml_certificates",
  samlMetadataUrl: "saml_metadata_url",
  samlMetadataXml: "saml_metadata_xml",
  samlWantEncrypted: "saml_want_encrypted",
} as const;

/** A body as identity takes it: absent and null are empty. */
function inputOf(body: z.output<typeof changes>) {
  const { attributeMapping: given, samlCertificates, enforceSSO, autoProvision, ...rest } = body;
  const texts = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, value ?? undefined]));
  return {
    ...texts,
    ...(autoProvision === undefined ? {} : { autoProvision }),
    enforceSso: enforceSSO ?? false,
    samlCertificates: samlCertificates ?? [],
    ...(given
      ? {
          attributeMapping: {
            email: given.email,
            name: given.name,
            firstName: given.firstName ?? "",
            lastName: given.lastName ?? "",
            groups: given.groups ?? "",
          },
        }
      : {}),
  };
}

const presets = route({
  method: "GET",
  path: "/sso/presets",
  access: read,
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
  access: read,
  tag,
  summary: "Providers of accessible organizations, newest first",
  description: "`scope=partner`: the partner's own, for callers of scope partner.",
  query: listQuery.extend({ orgId: id.optional(), scope: z.enum(["partner"]).optional() }),
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
  access: read,
  tag,
  summary: "One provider, without its secret",
  params: idParams,
  reply: ssoProvider,
  errors: ["sso_provider_not_found"],
  async handle({ params, rpc }, { services }) {
    return providerOf((await services.ssoProviders.getSsoProvider(params, await rpc())).provider);
  },
});

const judged = [
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
  access: write,
  audit: "sso.provider.create",
  auditsRefusals: true,
  deadline: "report",
  tag,
  summary: "Make a provider; it is inactive",
  description:
    "`ownerScope` partner makes the partner's own, which needs `partner:policy` and access to all organizations; `orgId` is ignored then.",
  body: z.object({
    name: nameIn,
    type,
    ownerScope: z.enum(["organization", "partner"]).nullish(),
    orgId: id.nullish(),
    partnerId: id.nullish().meta({ description: "Of a partner's own provider, from callers of scope system." }),
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
  bodyLimitBytes: 512 * 1024,
  idempotent: true,
  status: 201,
  reply: ssoProvider,
  errors: [
    ...judged,
    "organization_context_required",
    "organization_not_found",
    "partner_id_required",
    "partner_not_found",
    "limit_reached",
  ],
  async handle({ body, rpc }, { services }) {
    const { ownerScope, orgId, partnerId, type: of, ...rest } = body;
    const place = { ownerScope: ownerScope ?? "", orgId: orgId ?? "", partnerId: partnerId ?? "" };
    const wanted = { ...place, input: { ...inputOf(rest), type: of } };
    return providerOf((await services.ssoProviders.createSsoProvider(wanted, await rpc())).provider);
  },
});

const update = route({
  method: "PATCH",
  path: "/sso/providers/:id",
  access: write,
  audit: "sso.provider.update",
  auditsRefusals: true,
  deadline: "report",
  tag,
  summary: "Change a provider",
  description: "Ends every sign-in through it that is under way. A new issuer is discovered first. The type is fixed.",
  params: idParams,
  body: changes,
  example: { allowedDomains: "acme.example", enforceSSO: true },
  bodyLimitBytes: 512 * 1024,
  reply: ssoProvider,
  errors: [...judged, "no_updates", "sso_provider_not_found", "sso_incomplete_provider"],
  async handle({ params, body, rpc }, { services }) {
    const wanted = { id: params.id, updateMask: maskOf(body, paths), input: inputOf(body) };
    return providerOf((await services.ssoProviders.updateSsoProvider(wanted, await rpc())).provider);
  },
});

const remove = route({
  method: "DELETE",
  path: "/sso/providers/:id",
  access: write,
  audit: "sso.provider.delete",
  auditsRefusals: true,
  tag,
  summary: "Delete a provider with its links and sign-ins under way",
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
  access: write,
  audit: "sso.provider.status.update",
  auditsRefusals: true,
  tag,
  summary: "Set a provider inactive, testing or active",
  description:
    "With `testing` nobody signs in; administrators link their own account through it, which makes every check.",
  params: idParams,
  body: z.object({ status }),
  example: { status: "active" },
  reply: ssoProvider,
  errors: ["sso_provider_not_found", "sso_incomplete_provider", "site_restricted", "scope_not_allowed"],
  async handle({ params, body, rpc }, { services }) {
    const wanted = { id: params.id, status: body.status };
    return providerOf((await services.ssoProviders.setSsoProviderStatus(wanted, await rpc())).provider);
  },
});

const test = route({
  method: "POST",
  path: "/sso/providers/:id/test",
  access: write,
  audit: "sso.provider.test",
  auditsRefusals: true,
  deadline: "report",
  tag,
  summary: "Ask a provider as sign-in would; nothing changes",
  params: idParams,
  reply: z.object({
    success: z.literal(true),
    issuer: z.string().nullable(),
    endpoints: z.object({
      authorizationUrl: z.string().nullable(),
      tokenUrl: z.string().nullable(),
      userInfoUrl: z.string().nullable(),
      jwksUrl: z.string().nullable(),
      samlSsoUrl: z.string().nullable(),
    }),
    samlCertificates: z.array(certificate),
  }),
  errors: [
    "sso_provider_not_found",
    "sso_incomplete_provider",
    "sso_discovery_failed",
    "saml_metadata_invalid",
    "site_restricted",
    "scope_not_allowed",
  ],
  async handle({ params, rpc }, { services }) {
    const reply = await services.ssoProviders.testSsoProvider(params, await rpc());
    return {
      success: true as const,
      issuer: reply.issuer || null,
      endpoints: {
        authorizationUrl: reply.authorizationUrl || null,
        tokenUrl: reply.tokenUrl || null,
        userInfoUrl: reply.userInfoUrl || null,
        jwksUrl: reply.jwksUrl || null,
        samlSsoUrl: reply.samlSsoUrl || null,
      },
      samlCertificates: reply.samlCertificates.map(certificateOf),
    };
  },
});

const attempts = route({
  method: "GET",
  path: "/sso/providers/:id/attempts",
  access: read,
  tag,
  summary: "The newest 50 sign-ins through a provider, with the check that ended them",
  params: idParams,
  query: listQuery,
  reply: z.object({
    data: z.array(
      z.object({
        id: idOut,
        kind: z.enum(["login", "link"]),
        outcome: z.enum(["success", "failure"]),
        step: z.string().meta({ description: "The last check that was made." }),
        reason: z.string().nullable(),
        detail: z.string().nullable(),
        email: z.string().nullable(),
        ipAddress: z.string().nullable(),
        userAgent: z.string().nullable(),
        requestId: z.string().nullable(),
        createdAt: timeOut,
      }),
    ),
    pagination,
  }),
  errors: ["sso_provider_not_found"],
  async handle({ params, query, rpc }, { services }) {
    const reply = await services.ssoProviders.listSsoAttempts({ id: params.id, page: pageOf(query) }, await rpc());
    return { data: reply.attempts.map(attemptOf), pagination: paginationOf(reply.page) };
  },
});

function presetOf(preset: SsoPreset) {
  return {
    id: preset.id,
    type: type.parse(preset.type),
    name: preset.name,
    issuerTemplate: preset.issuerTemplate || null,
    ssoUrlTemplate: preset.ssoUrlTemplate || null,
    scopes: preset.scopes,
    attributeMapping: mappingOf(preset.attributeMapping),
  };
}

function mappingOf(message: SsoProvider["attributeMapping"]): z.input<typeof mapping> {
  const { email = "", name = "", firstName, lastName, groups } = message ?? {};
  const optional = Object.entries({ firstName, lastName, groups }).filter(([, named]) => named);
  return { email, name, ...Object.fromEntries(optional) };
}

function certificateOf(message: SamlCertificate): z.input<typeof certificate> {
  return {
    pem: message.pem,
    fingerprint: message.fingerprint,
    notBefore: timeOf(message.notBefore),
    notAfter: timeOf(message.notAfter),
    source: certificate.shape.source.parse(message.source),
  };
}

function attemptOf(message: SsoAttempt) {
  return {
    id: message.id,
    kind: z.enum(["login", "link"]).parse(message.kind),
    outcome: z.enum(["success", "failure"]).parse(message.outcome),
    step: message.step,
    reason: message.reason || null,
    detail: message.detail || null,
    email: message.email || null,
    ipAddress: message.ipAddress || null,
    userAgent: message.userAgent || null,
    requestId: message.requestId || null,
    createdAt: timeOf(message.createdAt),
  };
}

function providerOf(message: SsoProvider | undefined): z.input<typeof ssoProvider> {
  if (!message) throw new Error("identity answered without a provider");
  const reason = ssoProvider.shape.enforcement.shape.reason.parse(message.enforcementReason || null);
  return {
    id: message.id,
    orgId: message.orgId || null,
    partnerId: message.partnerId || null,
    name: message.name,
    type: type.parse(message.type),
    status: status.parse(message.status),
    preset: message.preset || null,
    issuer: message.issuer || null,
    clientId: message.clientId || null,
    hasClientSecret: message.hasClientSecret,
    scopes: message.scopes,
    attributeMapping: mappingOf(message.attributeMapping),
    autoProvision: message.autoProvision,
    defaultRoleId: message.defaultRoleId || null,
    allowedDomains: message.allowedDomains,
    enforceSSO: message.enforceSso,
    enforcement: { inForce: message.enforcementInForce, reason },
    trustIdpMfa: message.trustIdpMfa,
    authorizationUrl: message.authorizationUrl || null,
    tokenUrl: message.tokenUrl || null,
    userInfoUrl: message.userInfoUrl || null,
    jwksUrl: message.jwksUrl || null,
    samlEntityId: message.samlEntityId || null,
    samlSsoUrl: message.samlSsoUrl || null,
    samlCertificates: message.samlCertificates.map(certificateOf),
    samlMetadataUrl: message.samlMetadataUrl || null,
    samlWantEncrypted: message.samlWantEncrypted,
    callbackUrl: message.callbackUrl || null,
    samlAcsUrl: message.samlAcsUrl || null,
    samlSpMetadataUrl: message.samlSpMetadataUrl || null,
    createdBy: message.createdBy,
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
  };
}

export const ssoProviderRoutes: readonly Route[] = [
  presets,
  list,
  get,
  create,
  update,
  remove,
  setStatus,
  test,
  attempts,
];
