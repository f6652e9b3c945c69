import type { Partner } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
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
  pageOf,
  pagination,
  paginationOf,
  searchIn,
  slugIn,
  success,
  timeOf,
  timeOrNull,
  timeOut,
} from "../fields/schemas.ts";

const tag = "Partners";
const read = { auth: "session", permission: "organizations:read", scopes: ["system"] } as const;
const write = { auth: "session", permission: "organizations:write", scopes: ["system"] } as const;

const type = z.enum(["msp", "enterprise", "internal"]);
const plan = z.enum(["free", "starter", "community", "pro", "enterprise", "unlimited"]);
const status = z.enum(["pending", "active", "suspended", "churned"]);
const billingEmail = z.email().max(255).nullish();

const partner = z
  .object({
    id: idOut,
    name: z.string(),
    slug: z.string(),
    type,
    plan,
    status,
    maxOrganizations: z.int().nullable(),
    maxDevices: z.int().nullable(),
    settings: objectOut,
    ssoConfig: objectOut,
    billingEmail: z.string().nullable(),
    createdAt: timeOut,
    updatedAt: timeOut,
    deletedAt: timeOut.nullable(),
  })
  .meta({ id: "Partner" });

const newPartner = z.object({
  name: nameIn,
  slug: slugIn.meta({ description: "URL-safe, unique among partners." }),
  type: type.optional().meta({ default: "msp" }),
  plan: plan.optional().meta({ default: "free" }),
  maxOrganizations: capIn.nullish(),
  maxDevices: capIn.nullish(),
  billingEmail,
});

const create = route({
  method: "POST",
  path: "/orgs/partners",
  audit: "partner.create",
  access: write,
  tag,
  summary: "Create a partner",
  body: newPartner,
  example: { name: "Example", slug: "example" },
  status: 201,
  idempotent: true,
  reply: partner,
  errors: ["slug_taken"],
  async handle({ body, rpc }, { services }) {
    const wanted = {
      name: body.name,
      slug: body.slug,
      type: body.type ?? "",
      plan: body.plan ?? "",
      maxOrganizations: body.maxOrganizations ?? undefined,
      maxDevices: body.maxDevices ?? undefined,
      billingEmail: body.billingEmail ?? undefined,
    };
    const reply = await services.partners.createPartner(wanted, await rpc());
    return partnerOf(reply.partner);
  },
});

const list = route({
  method: "GET",
  path: "/orgs/partners",
  access: read,
  tag,
  summary: "List partners by name",
  query: listQuery.extend({
    search: searchIn.meta({ description: "Only records with a name or slug that contains this text, ignoring case." }),
  }),
  reply: z.object({ data: z.array(partner), pagination }),
  async handle({ query, rpc }, { services }) {
    const wanted = { page: pageOf(query), search: query.search ?? "" };
    const reply = await services.partners.listPartners(wanted, await rpc());
    return { data: reply.partners.map(partnerOf), pagination: paginationOf(reply.page) };
  },
});

const get = route({
  method: "GET",
  path: "/orgs/partners/:id",
  access: read,
  tag,
  summary: "One partner",
  params: idParams,
  reply: partner,
  errors: ["partner_not_found"],
  async handle({ params, rpc }, { services }) {
    const reply = await services.partners.getPartner({ id: params.id }, await rpc());
    return partnerOf(reply.partner);
  },
});

const settingsIn = objectIn.meta({
  description:
    "Merged: keys in the request replace stored ones, null removes a key, `contact.*` and `businessHours.*` singly.",
});

const ownPatch = z.object({ name: nameIn.optional(), billingEmail, settings: settingsIn.optional() });
const ownPaths = { name: "name", billingEmail: "billing_email", settings: "settings_json" };

const patch = ownPatch.extend({
  slug: slugIn.optional(),
  type: type.optional(),
  plan: plan.optional(),
  status: status.optional(),
  maxOrganizations: capIn.nullish(),
  maxDevices: capIn.nullish(),
  ssoConfig: objectIn.nullish(),
});
const paths = {
  ...ownPaths,
  slug: "slug",
  type: "type",
  plan: "plan",
  status: "status",
  maxOrganizations: "max_organizations",
  maxDevices: "max_devices",
  ssoConfig: "sso_config_json",
};

function patchMessage({ settings, ssoConfig, ...rest }: z.output<typeof patch>) {
  return {
    name: rest.name ?? "",
    slug: rest.slug ?? "",
    type: rest.type ?? "",
    plan: rest.plan ?? "",
    status: rest.status ?? "",
    maxOrganizations: rest.maxOrganizations ?? undefined,
    maxDevices: rest.maxDevices ?? undefined,
    billingEmail: rest.billingEmail ?? undefined,
    settingsJson: jsonText(settings),
    ssoConfigJson: jsonText(ssoConfig),
  };
}

const update = route({
  method: "PATCH",
  path: "/orgs/partners/:id",
  audit: "partner.update",
  access: write,
  tag,
  summary: "Change a partner",
  params: idParams,
  body: patch,
  bodyLimitBytes: objectsBodyLimitBytes,
  reply: partner,
  errors: ["no_updates", "partner_not_found", "slug_taken"],
  async handle({ params, body, rpc }, { services }) {
    const wanted = { id: params.id, updateMask: maskOf(body, paths), partner: patchMessage(body) };
    const reply = await services.partners.updatePartner(wanted, await rpc());
    return partnerOf(reply.partner);
  },
});

const remove = route({
  method: "DELETE",
  path: "/orgs/partners/:id",
  audit: "partner.delete",
  access: write,
  tag,
  summary: "Delete a partner",
  description: "Soft delete: the record stays, no list or detail shows it, its slug is free again.",
  params: idParams,
  reply: success,
  errors: ["partner_not_found"],
  async handle({ params, rpc }, { services }) {
    await services.partners.deletePartner({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

const getOwn = route({
  method: "GET",
  path: "/orgs/partners/me",
  access: { auth: "session", permission: "organizations:read", scopes: ["partner"] },
  tag,
  summary: "The caller's own partner",
  reply: partner,
  errors: ["partner_not_found"],
  async handle({ rpc }, { services }) {
    const reply = await services.partners.getOwnPartner({}, await rpc());
    return partnerOf(reply.partner);
  },
});

const updateOwn = route({
  method: "PATCH",
  path: "/orgs/partners/me",
  audit: "partner.settings.update",
  access: { auth: "session", permission: "partner:policy", scopes: ["partner"] },
  tag,
  summary: "Change the caller's own partner",
  body: ownPatch,
  example: { settings: { contact: { name: "Ada" } } },
  bodyLimitBytes: objectsBodyLimitBytes,
  reply: partner,
  errors: ["no_updates", "partner_not_found", "site_restricted"],
  async handle({ body, rpc }, { services }) {
    const wanted = { updateMask: maskOf(body, ownPaths), partner: patchMessage(body) };
    const reply = await services.partners.updateOwnPartner(wanted, await rpc());
    return partnerOf(reply.partner);
  },
});

/** Most organizations in one order; the service accepts no more either. */
const maxOrdered = 5_000;
const organizationOrder = z.object({ organizationOrder: z.array(id).max(maxOrdered) });

const order = route({
  method: "PATCH",
  path: "/orgs/organizations/order",
  audit: "partner.settings.update",
  access: { auth: "session", permission: "organizations:write", scopes: ["partner"] },
  tag,
  summary: "Set the preferred order of organizations",
  description: "Unknown and deleted ids are dropped, omitted organizations follow in the order of registration.",
  body: organizationOrder,
  example: { organizationOrder: [exampleId] },
  bodyLimitBytes: objectsBodyLimitBytes,
  reply: z.object({ organizationOrder: z.array(idOut) }),
  errors: ["partner_not_found", "site_restricted"],
  async handle({ body, rpc }, { services }) {
    const reply = await services.partners.setOrganizationOrder(body, await rpc());
    return { organizationOrder: reply.organizationOrder };
  },
});

function partnerOf(message: Partner | undefined): z.input<typeof partner> {
  if (!message) throw new Error("tenancy answered without a partner");
  return {
    id: message.id,
    name: message.name,
    slug: message.slug,
    type: type.parse(message.type),
    plan: plan.parse(message.plan),
    status: status.parse(message.status),
    maxOrganizations: message.maxOrganizations ?? null,
    maxDevices: message.maxDevices ?? null,
    settings: objectOf(message.settingsJson),
    ssoConfig: objectOf(message.ssoConfigJson),
    billingEmail: message.billingEmail ?? null,
    createdAt: timeOf(message.createdAt),
    updatedAt: timeOf(message.updatedAt),
    deletedAt: timeOrNull(message.deletedAt),
  };
}

export const partnerRoutes: readonly Route[] = [create, list, get, update, remove, getOwn, updateOwn, order];
