import type { Organization } from "@muster/proto/muster/tenancy/v1/organization_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { deviceCountsField, deviceCountsOf, ownerView, ownerViewOf } from "../fields/device-counts.ts";
import { jsonText, maskOf } from "../fields/field-mask.ts";
import {
  capIn,
  exampleId,
  id,
  idOut,
  idParams,
  listQuery,
  nameIn,
  objectIn,
  objectOf,
  objectOut,
  objectsBodyLimitBytes,
  only,
  pageOf,
  pagination,
  paginationOf,
  searchIn,
  slugIn,
  success,
  timeIn,
  timeOf,
  timeOrNull,
  timeOut,
  timestampOf,
} from "../fields/schemas.ts";

const tag = "Organizations";

const type = z.enum(["customer", "internal"]);
const status = z.enum(["active", "suspended", "trial", "churned"]);

const organization = z
  .object({
    id: idOut,
    partnerId: idOut,
    name: z.string(),
    slug: z.string(),
    type,
    status,
    maxDevices: z.int().nullable(),
    settings: objectOut,
    ssoConfig: objectOut,
    billingContact: objectOut,
    contractStart: timeOut.nullable(),
    contractEnd: timeOut.nullable(),
    createdAt: timeOut,
    updatedAt: timeOut,
    deletedAt: timeOut.nullable(),
    deviceCounts: deviceCountsField,
  })
  .meta({ id: "Organization" });

const newOrganization = z.object({
  partnerId: id
    .optional()
    .meta({ description: "Required for system callers; partner callers may only name their own partner." }),
  name: nameIn,
  slug: slugIn.meta({ description: "URL-safe, unique among the partner's organizations." }),
  type: type.optional().meta({ default: "customer" }),
  status: status.optional().meta({ default: "active" }),
  maxDevices: capIn.nullish(),
  contractStart: timeIn.nullish(),
  contractEnd: timeIn.nullish(),
  settings: objectIn.optional(),
  billingContact: objectIn.nullish(),
});

const patch = z.object({
  name: nameIn.optional(),
  slug: slugIn.optional(),
  type: type.optional(),
  status: status.optional(),
  maxDevices: capIn.nullish(),
  contractStart: timeIn.nullish(),
  contractEnd: timeIn.nullish(),
  settings: objectIn
    .optional()
    .meta({ description: "Merged: keys in the request replace stored ones, null removes a key." }),
  ssoConfig: objectIn.nullish(),
  billingContact: objectIn.nullish(),
});

const paths = {
  name: "name",
  slug: "slug",
  type: "type",
  status: "status",
  maxDevices: "max_devices",
  contractStart: "contract_start",
  contractEnd: "contract_end",
  settings: "settings_json",
  ssoConfig: "sso_config_json",
  billingContact: "billing_contact_json",
};

function messageOf(body: Omit<z.output<typeof patch>, "settings"> & { settings?: Record<string, unknown> | null }) {
  return {
    name: body.name ?? "",
    slug: body.slug ?? "",
    type: body.type ?? "",
    status: body.status ?? "",
    maxDevices: body.maxDevices ?? undefined,
    contractStart: timestampOf(body.contractStart ?? undefined),
    contractEnd: timestampOf(body.contractEnd ?? undefined),
    settingsJson: jsonText(body.settings),
    ssoConfigJson: jsonText(body.ssoConfig),
    billingContactJson: jsonText(body.billingContact),
  };
}

const all = route({
  method: "GET",
  path: "/orgs",
  access: { auth: "session", permission: "organizations:read", keyScopes: ["organizations:read"] },
  tag,
  summary: "All accessible organizations by name",
  description: "Not paged, at most 10,000; callers with more list them at /orgs/organizations.",
  reply: z.object({ data: z.array(organization) }),
  async handle({ rpc }, { services }) {
    const reply = await services.organizations.listAccessibleOrganizations({}, await rpc());
    return { data: reply.organizations.map(organizationOf) };
  },
});

const list = route({
  method: "GET",
  path: "/orgs/organizations",
  access: {
    auth: "session",
    permission: "organizations:read",
    scopes: ["partner", "system"],
    keyScopes: ["organizations:read"],
  },
  tag,
  summary: "List organizations by name unless sorted",
  query: listQuery.extend({
    ...ownerView,
    partnerId: id.optional().meta({ description: only.partner }),
    search: searchIn.meta({ description: "Only records with a name or slug that contains this text, ignoring case." }),
  }),
  reply: z.object({ data: z.array(organization), pagination }),
  errors: ["partner_not_found"],
  async handle({ query, rpc }, { services }) {
    const { partnerId = "", search = "" } = query;
    const wanted = { page: pageOf(query), partnerId, search, ...ownerViewOf(query) };
    const reply = await services.organizations.listOrganizations(wanted, await rpc());
    return { data: reply.organizations.map(organizationOf), pagination: paginationOf(reply.page) };
  },
});

const create = route({
  method: "POST",
  path: "/orgs/organizations",
  audit: "organization.create",
  access: {
    auth: "session",
    permission: "organizations:write",
    scopes: ["partner", "system"],
    keyScopes: ["organizations:write"],
  },
  tag,
  summary: "Create an organization",
  body: newOrganization,
  example: { partnerId: exampleId, name: "Acme", slug: "acme" },
  bodyLimitBytes: objectsBodyLimitBytes,
  status: 201,
  idempotent: true,
  reply: organization,
  errors: [
    "partner_id_required",
    "partner_context_required",
    "partner_access_denied",
    "partner_not_found",
    "site_restricted",
    "slug_taken",
    "limit_reached",
  ],
  async handle({ body, rpc }, { services }) {
    const wanted = { ...messageOf(body), partnerId: body.partnerId ?? "" };
    const reply = await services.organizations.createOrganization(wanted, await rpc());
    return organizationOf(reply.organization);
  },
});

const get = route({
  method: "GET",
  path: "/orgs/organizations/:id",
  access: {
    auth: "session",
    permission: "organizations:read",
    scopes: ["partner", "system"],
    keyScopes: ["organizations:read"],
  },
  tag,
  summary: "One organization",
  params: idParams,
  reply: organization,
  errors: ["organization_not_found"],
  async handle({ params, rpc }, { services }) {
    const reply = await services.organizations.getOrganization({ id: params.id }, await rpc());
    return organizationOf(reply.organization);
  },
});

const update = route({
  method: "PATCH",
  path: "/orgs/organizations/:id",
  audit: "organization.update",
  access: {
    auth: "session",
    permission: "organizations:write",
    scopes: ["partner", "system"],
    keyScopes: ["organizations:write"],
  },
  tag,
  summary: "Change an organization",
  params: idParams,
  body: patch,
  bodyLimitBytes: objectsBodyLimitBytes,
  reply: organization,
  errors: ["no_updates", "organization_not_found", "site_restricted", "slug_taken"],
  async handle({ params, body, rpc }, { services }) {
    const wanted = { id: params.id, updateMask: maskOf(body, paths), organization: messageOf(body) };
    const reply = await services.organizations.updateOrganization(wanted, await rpc());
    return organizationOf(reply.organization);
  },
});

const remove = route({
  method: "DELETE",
  path: "/orgs/organizations/:id",
  audit: "organization.delete",
  access: {
    auth: "session",
    permission: "organizations:write",
    scopes: ["partner", "system"],
    keyScopes: ["organizations:write"],
  },
  tag,
  summary: "Delete an organization",
  description:
    "Soft delete: its slug is free again, it no longer counts against the partner's limit, and its sites stay.",
  params: idParams,
  reply: success,
  errors: ["organization_not_found", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    await services.organizations.deleteOrganization({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

function organizationOf(message: Organization | undefined): z.input<typeof organization> {
  if (!message) throw new Error("tenancy answered without an organization");
  return {
    id: message.id,
    partnerId: message.partnerId,
    name: message.name,
    slug: message.slug,
    type: type.parse(message.type),
    status: status.parse(message.status),
    maxDevices: message.maxDevices ?? null,
    settings: objectOf(message.settingsJson),
    ssoConfig: objectOf(message.ssoConfigJson),
    billingContact: objectOf(message.billingContactJson),
    contractStart: timeOrNull(message.contractStart),
    contractEnd: timeOrNull(message.contractEnd),
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
    deletedAt: timeOrNull(message.deletedAt),
    ...deviceCountsOf(message.deviceCounts),
  };
}

export const organizationRoutes: readonly Route[] = [all, list, create, get, update, remove];
