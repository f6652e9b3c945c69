import type { Partner } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { z } from "zod";
import { type Route, route } from "../route.ts";
import { idOut, idParams, listQuery, objectOf, objectOut, pageOf, pagination, paginationOf, timeOf, timeOrNull, timeOut } from "./schemas.ts";

const tag = "Partners";

const type = z.enum(["msp", "enterprise", "internal"]);
const plan = z.enum(["free", "starter", "community", "pro", "enterprise", "unlimited"]);
const status = z.enum(["pending", "active", "suspended", "churned"]);
const cap = z.int().min(0).max(2_147_483_647);

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
  name: z.string().trim().min(1).max(255),
  slug: z.string().min(1).max(100).meta({ description: "URL-safe, unique among partners." }),
  type: type.optional().meta({ description: "Default msp." }),
  plan: plan.optional().meta({ description: "Default free." }),
  maxOrganizations: cap.nullish(),
  maxDevices: cap.nullish(),
  billingEmail: z.email().max(255).nullish(),
});

const create = route({
  method: "POST",
  path: "/orgs/partners",
  access: { auth: "session", permission: "organizations:write", scopes: ["system"] },
  tag,
  summary: "Create a partner",
  body: newPartner,
  status: 201,
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
  access: { auth: "session", permission: "organizations:read", scopes: ["system"] },
  tag,
  summary: "List partners by name",
  query: listQuery,
  reply: z.object({ data: z.array(partner), pagination }),
  async handle({ query, rpc }, { services }) {
    const reply = await services.partners.listPartners({ page: pageOf(query) }, await rpc());
    return { data: reply.partners.map(partnerOf), pagination: paginationOf(reply.page) };
  },
});

const get = route({
  method: "GET",
  path: "/orgs/partners/:id",
  access: { auth: "session", permission: "organizations:read", scopes: ["system"] },
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

export const partnerRoutes: readonly Route[] = [create, list, get];
