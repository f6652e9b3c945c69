import type { ServicePrincipal } from "@muster/proto/muster/identity/v1/service_principal_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
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
  searchIn,
  timeOf,
  timeOut,
} from "../fields/schemas.ts";
import { apiKey, apiKeyOf, keyShown, keyWarning, scopesIn, warningOut } from "./api-keys.ts";

const tag = "Service principals";
const read = { auth: "session", permission: "organizations:read" } as const;
const write = { auth: "session", permission: "organizations:write", mfa: true } as const;

const status = z.enum(["active", "disabled"]);

const principal = z
  .object({
    id: idOut,
    orgId: idOut,
    name: z.string(),
    scopes: z.array(z.string()).meta({ description: "Scopes that its key may have at most." }),
    status,
    keyPrefix: z.string().nullable().meta({ description: "Prefix of the active key; null when there is none." }),
    createdBy: idOut,
    createdAt: timeOut,
    updatedAt: timeOut,
  })
  .meta({ id: "ServicePrincipal" });

const create = route({
  method: "POST",
  path: "/service-principals",
  access: write,
  audit: "service_principal.create",
  tag,
  summary: "Create a service principal and its first key",
  description: "A caller can only grant a scope when they hold its permission.",
  body: z.object({ orgId: id, name: nameIn, scopes: scopesIn.optional() }),
  example: { orgId: exampleId, name: "Inventory", scopes: ["devices:read"] },
  idempotent: true,
  noStore: true,
  status: 201,
  reply: principal.extend({ ...keyShown, warning: warningOut }),
  errors: ["unknown_scope", "organization_not_found", "delegation_denied", "site_restricted"],
  async handle({ body, rpc }, { services }) {
    const wanted = { orgId: body.orgId, name: body.name, scopes: body.scopes ?? [] };
    const reply = await services.servicePrincipals.createServicePrincipal(wanted, await rpc());
    const first = apiKeyOf(reply.apiKey);
    const shown = { key: reply.key, keyId: first.id, keyPrefix: first.keyPrefix };
    return { ...principalOf(reply.principal), ...shown, warning: keyWarning };
  },
});

const list = route({
  method: "GET",
  path: "/service-principals",
  access: read,
  tag,
  summary: "Service principals of accessible organizations, newest first",
  query: listQuery.extend({
    orgId: id.optional().meta({ description: only.organization }),
    status: status.optional().meta({ description: only.equal }),
    search: searchIn,
  }),
  reply: z.object({ data: z.array(principal), pagination }),
  errors: ["organization_not_found", "site_restricted"],
  async handle({ query, rpc }, { services }) {
    const { orgId = "", status = "", search = "" } = query;
    const wanted = { page: pageOf(query), orgId, status, search };
    const reply = await services.servicePrincipals.listServicePrincipals(wanted, await rpc());
    return { data: reply.principals.map(principalOf), pagination: paginationOf(reply.page) };
  },
});

const get = route({
  method: "GET",
  path: "/service-principals/:id",
  access: read,
  tag,
  summary: "One service principal",
  params: idParams,
  reply: principal,
  errors: ["service_principal_not_found", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    const reply = await services.servicePrincipals.getServicePrincipal({ id: params.id }, await rpc());
    return principalOf(reply.principal);
  },
});

const rotate = route({
  method: "POST",
  path: "/service-principals/:id/rotate",
  access: write,
  audit: "service_principal.rotate_key",
  tag,
  summary: "Rotate a service principal's key",
  description:
    "The previous key is revoked everywhere before the reply is sent. The caller must hold every scope of the principal.",
  params: idParams,
  idempotent: true,
  noStore: true,
  reply: z.object({ ...keyShown, warning: warningOut }),
  errors: ["service_principal_not_found", "delegation_denied", "principal_disabled", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    const reply = await services.servicePrincipals.rotatePrincipalKey({ id: params.id }, await rpc());
    const key = apiKeyOf(reply.apiKey);
    return { keyId: key.id, key: reply.key, keyPrefix: key.keyPrefix, warning: keyWarning };
  },
});

const disable = route({
  method: "POST",
  path: "/service-principals/:id/disable",
  load: "vital",
  access: write,
  audit: "service_principal.disable",
  tag,
  summary: "Disable a service principal",
  description: "Each of its keys is refused everywhere before the reply is sent.",
  params: idParams,
  reply: principal,
  errors: ["service_principal_not_found", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    const reply = await services.servicePrincipals.disableServicePrincipal({ id: params.id }, await rpc());
    return principalOf(reply.principal);
  },
});

const migrateKey = route({
  method: "POST",
  path: "/service-principals/:id/migrate-key",
  access: write,
  audit: "service_principal.migrate_key",
  tag,
  summary: "Adopt an existing API key for a service principal",
  description: "The key's scopes become those that both allow; the principal's previous key is revoked.",
  params: idParams,
  body: z.object({ keyId: id }),
  idempotent: true,
  reply: apiKey,
  errors: [
    "service_principal_not_found",
    "api_key_not_found",
    "delegation_denied",
    "principal_disabled",
    "key_not_active",
    "site_restricted",
  ],
  async handle({ params, body, rpc }, { services }) {
    const reply = await services.servicePrincipals.migrateKey({ id: params.id, keyId: body.keyId }, await rpc());
    return apiKeyOf(reply.apiKey);
  },
});

function principalOf(message: ServicePrincipal | undefined): z.input<typeof principal> {
  if (!message) throw new Error("identity answered without a service principal");
  return {
    id: message.id,
    orgId: message.orgId,
    name: message.name,
    scopes: message.scopes,
    status: status.parse(message.status),
    keyPrefix: message.keyPrefix || null,
    createdBy: message.createdBy,
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
  };
}

export const servicePrincipalRoutes: readonly Route[] = [create, list, get, rotate, disable, migrateKey];
