import type { SsoDomain } from "@muster/proto/muster/identity/v1/sso_domain_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import {
  exampleId,
  id,
  idOut,
  idParams,
  listQuery,
  only,
  pageOf,
  pagination,
  paginationOf,
  success,
  timeOf,
  timeOrNull,
  timeOut,
} from "../fields/schemas.ts";

const tag = "Single sign-on";
const write = { auth: "session", permission: "organizations:write", mfa: true } as const;

const domain = z
  .object({
    id: idOut,
    orgId: idOut.nullable().meta({ description: "Organization that claims the domain; null for a partner's own." }),
    partnerId: idOut.nullable(),
    domain: z.string(),
    recordName: z.string().meta({ description: "Name of the TXT record to create." }),
    recordValue: z.string(),
    verifiedAt: timeOut.nullable(),
    lastCheckedAt: timeOut.nullable(),
    lastError: z.string().nullable(),
    createdBy: idOut,
    createdAt: timeOut,
  })
  .meta({ id: "SsoDomain" });

const list = route({
  method: "GET",
  path: "/sso/domains",
  access: { auth: "session", permission: "organizations:read" },
  tag,
  summary: "Domains that accessible organizations claim, newest first",
  query: listQuery.extend({
    orgId: id.optional().meta({ description: only.organization }),
    scope: z.enum(["partner"]).optional().meta({ description: "Only records of the partner itself." }),
  }),
  reply: z.object({ data: z.array(domain), pagination }),
  errors: ["organization_not_found", "scope_not_allowed"],
  async handle({ query, rpc }, { services }) {
    const wanted = { page: pageOf(query), orgId: query.orgId ?? "", scope: query.scope ?? "" };
    const reply = await services.ssoDomains.listSsoDomains(wanted, await rpc());
    return { data: reply.domains.map(domainOf), pagination: paginationOf(reply.page) };
  },
});

const create = route({
  method: "POST",
  path: "/sso/domains",
  access: write,
  audit: "sso.domain.create",
  auditResource: "sso_domain",
  tag,
  summary: "Claim a domain of e-mail addresses",
  description:
    "It takes effect once its TXT record was found (verify). Public suffixes and domains of free mail providers are refused.",
  body: z.object({
    domain: z.string().min(1).max(255),
    ownerScope: z.enum(["organization", "partner"]).nullish(),
    orgId: id.nullish(),
    partnerId: id.nullish(),
  }),
  example: { domain: "acme.example", orgId: exampleId },
  idempotent: true,
  status: 201,
  reply: domain,
  errors: [
    "organization_context_required",
    "organization_not_found",
    "partner_id_required",
    "partner_not_found",
    "scope_not_allowed",
    "site_restricted",
    "name_taken",
    "limit_reached",
  ],
  async handle({ body, rpc }, { services }) {
    const { ownerScope, orgId, partnerId } = body;
    const owner = { ownerScope: ownerScope ?? "", orgId: orgId ?? "", partnerId: partnerId ?? "" };
    const reply = await services.ssoDomains.createSsoDomain({ ...owner, domain: body.domain }, await rpc());
    return domainOf(reply.domain);
  },
});

const verify = route({
  method: "POST",
  path: "/sso/domains/:id/verify",
  access: write,
  audit: "sso.domain.verify",
  auditResource: "sso_domain",
  tag,
  summary: "Look up a domain's TXT record now",
  description: "A missing record is reported in `lastError`. A verified domain stays verified.",
  params: idParams,
  reply: domain,
  errors: ["sso_domain_not_found", "domain_taken", "scope_not_allowed", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    return domainOf((await services.ssoDomains.verifySsoDomain(params, await rpc())).domain);
  },
});

const remove = route({
  method: "DELETE",
  path: "/sso/domains/:id",
  access: write,
  audit: "sso.domain.delete",
  auditResource: "sso_domain",
  tag,
  summary: "Release a domain",
  params: idParams,
  reply: success,
  errors: ["sso_domain_not_found", "scope_not_allowed", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    await services.ssoDomains.deleteSsoDomain(params, await rpc());
    return { success: true as const };
  },
});

function domainOf(message: SsoDomain | undefined): z.input<typeof domain> {
  if (!message) throw new Error("identity answered without a domain");
  return {
    id: message.id,
    orgId: message.orgId || null,
    partnerId: message.partnerId || null,
    domain: message.domain,
    recordName: message.recordName,
    recordValue: message.recordValue,
    verifiedAt: timeOrNull(message.verifiedAt),
    lastCheckedAt: timeOrNull(message.lastCheckedAt),
    lastError: message.lastError || null,
    createdBy: message.createdBy,
    createdAt: timeOf(message.createdAt),
  };
}

export const ssoDomainRoutes: readonly Route[] = [list, create, verify, remove];
