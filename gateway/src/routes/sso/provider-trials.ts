import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { idOut, idParams, listQuery, pageOf, pagination, paginationOf, timeOut } from "../fields/schemas.ts";
import { certificate, ssoProvider } from "./provider-fields.ts";
import { certificateOf, providerOf, reportOf, signInAttemptOf } from "./provider-replies.ts";
import { readProviders, writeProviders } from "./providers.ts";

const tag = "Single sign-on";

const test = route({
  method: "POST",
  path: "/sso/providers/:id/test",
  access: writeProviders,
  audit: "sso.provider.test",
  auditResource: "sso_provider",
  deadline: "report",
  tag,
  summary: "Test a provider's URLs as a sign-in would, and store new certificates",
  description:
    "Compares a SAML provider's metadata with what is stored: new certificates are stored, as the daily read does; other differences are reported.",
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
    samlMetadata: z
      .object({
        added: z.array(certificate).meta({ description: "Certificates that were stored just now." }),
        missing: z.array(certificate).meta({
          description: "Certificates that the metadata no longer names; each is accepted for seven days more.",
        }),
        omitted: z.array(z.string()),
        differences: z.array(z.object({ field: z.string(), current: z.string(), found: z.string() })).meta({
          description: "Other fields with another value in the metadata; PATCH applies them.",
        }),
      })
      .meta({ id: "SamlMetadataReport" })
      .nullable()
      .meta({ description: "Result of reading the metadata; null without a metadata URL." }),
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
      samlMetadata: reportOf(reply.samlMetadata),
    };
  },
});

const keys = route({
  method: "POST",
  path: "/sso/providers/:id/keys",
  access: writeProviders,
  audit: "sso.provider.keys.rotate",
  auditResource: "sso_provider",
  tag,
  summary: "Renew our key for a SAML provider",
  description:
    "Until the grace period ends, our metadata has both certificates, assertions may be encrypted for either, and requests are signed by the present key. During a grace period no further key is made: its end is moved, and 0 ends it at once.",
  params: idParams,
  body: z.object({
    graceDays: z.int().min(0).max(90).default(30).meta({
      description: "Days until the next key takes over; 0 replaces the key at once, for one that is compromised.",
    }),
  }),
  example: { graceDays: 30 },
  idempotent: true,
  reply: ssoProvider,
  errors: ["sso_provider_not_found", "site_restricted", "scope_not_allowed"],
  async handle({ params, body, rpc }, { services }) {
    const wanted = { id: params.id, graceDays: body.graceDays };
    return providerOf((await services.ssoProviders.renewSsoProviderKey(wanted, await rpc())).provider);
  },
});

const attempt = z
  .object({
    id: idOut,
    providerId: idOut,
    kind: z.enum(["login", "link"]),
    outcome: z.enum(["success", "failure"]),
    step: z.string().meta({ description: "The last check that was made." }),
    reason: z.string().nullable(),
    detail: z.string().nullable().meta({ description: "Found and expected value, for administrators." }),
    email: z.string().nullable(),
    ipAddress: z.string().nullable(),
    userAgent: z.string().nullable(),
    requestId: z.string().nullable(),
    createdAt: timeOut,
  })
  .meta({ id: "SsoAttempt" });

const attempts = route({
  method: "GET",
  path: "/sso/providers/:id/attempts",
  access: readProviders,
  tag,
  summary: "The newest 50 sign-ins through a provider, with the check that ended them",
  params: idParams,
  query: listQuery,
  reply: z.object({ data: z.array(attempt), pagination }),
  errors: ["sso_provider_not_found"],
  async handle({ params, query, rpc }, { services }) {
    const reply = await services.ssoProviders.listSsoAttempts({ id: params.id, page: pageOf(query) }, await rpc());
    return { data: reply.attempts.map(signInAttemptOf), pagination: paginationOf(reply.page) };
  },
});

const allAttempts = route({
  method: "GET",
  path: "/sso/attempts",
  access: readProviders,
  tag,
  summary: "The newest sign-ins through all accessible providers, 50 of each",
  query: listQuery,
  reply: z.object({ data: z.array(attempt), pagination }),
  async handle({ query, rpc }, { services }) {
    const reply = await services.ssoProviders.listSsoAttempts({ page: pageOf(query) }, await rpc());
    return { data: reply.attempts.map(signInAttemptOf), pagination: paginationOf(reply.page) };
  },
});

const oneAttempt = route({
  method: "GET",
  path: "/sso/attempts/:id",
  access: readProviders,
  tag,
  summary: "One sign-in, by the id that its user was shown",
  description: "The id is `attempt` in the address of the sign-in page. The newest 50 of each provider are kept.",
  params: idParams,
  reply: attempt,
  errors: ["sso_attempt_not_found"],
  async handle({ params, rpc }, { services }) {
    return signInAttemptOf((await services.ssoProviders.getSsoAttempt(params, await rpc())).attempt);
  },
});

export const ssoProviderTrialRoutes: readonly Route[] = [test, keys, attempts, allAttempts, oneAttempt];
