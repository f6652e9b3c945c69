import { z } from "zod";
import { type Route, route } from "../route.ts";
import { idOut, idParams, listQuery, pageOf, pagination, paginationOf, timeOut } from "./schemas.ts";
import { read, write } from "./sso-providers.ts";
import { certificate } from "./sso-providers-fields.ts";
import { attemptOf, certificateOf } from "./sso-providers-replies.ts";

const tag = "Single sign-on";

const test = route({
  method: "POST",
  path: "/sso/providers/:id/test",
  access: write,
  audit: "sso.provider.test",
  auditResource: "sso_provider",
  deadline: "report",
  tag,
  summary: "Test a provider's endpoints as a sign-in would; nothing changes",
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

const attempt = z
  .object({
    id: idOut,
    providerId: idOut,
    kind: z.enum(["login", "link"]),
    outcome: z.enum(["success", "failure"]),
    step: z.string().meta({ description: "The last check that was made." }),
    reason: z.string().nullable(),
    detail: z.string().nullable().meta({ description: "What was found and what was expected, for administrators." }),
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
  access: read,
  tag,
  summary: "The newest 50 sign-ins through a provider, with the check that ended them",
  params: idParams,
  query: listQuery,
  reply: z.object({ data: z.array(attempt), pagination }),
  errors: ["sso_provider_not_found"],
  async handle({ params, query, rpc }, { services }) {
    const reply = await services.ssoProviders.listSsoAttempts({ id: params.id, page: pageOf(query) }, await rpc());
    return { data: reply.attempts.map(attemptOf), pagination: paginationOf(reply.page) };
  },
});

const allAttempts = route({
  method: "GET",
  path: "/sso/attempts",
  access: read,
  tag,
  summary: "The newest sign-ins through all accessible providers, 50 of each",
  query: listQuery,
  reply: z.object({ data: z.array(attempt), pagination }),
  async handle({ query, rpc }, { services }) {
    const reply = await services.ssoProviders.listSsoAttempts({ page: pageOf(query) }, await rpc());
    return { data: reply.attempts.map(attemptOf), pagination: paginationOf(reply.page) };
  },
});

const oneAttempt = route({
  method: "GET",
  path: "/sso/attempts/:id",
  access: read,
  tag,
  summary: "One sign-in, by the id that its user was shown",
  description: "The id is `attempt` in the address of the sign-in page. The newest 50 of each provider are kept.",
  params: idParams,
  reply: attempt,
  errors: ["sso_attempt_not_found"],
  async handle({ params, rpc }, { services }) {
    return attemptOf((await services.ssoProviders.getSsoAttempt(params, await rpc())).attempt);
  },
});

export const ssoProviderTrialRoutes: readonly Route[] = [test, attempts, allAttempts, oneAttempt];
