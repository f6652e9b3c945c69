import { isPortalCapability, isReadOnly, portalCapabilities } from "@muster/kit";
import type { PortalLink } from "@muster/proto/muster/identity/v1/portal_pb";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { branding, brandingOf } from "../fields/branding.ts";
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
  success,
  timeOf,
  timeOrNull,
  timeOut,
} from "../fields/schemas.ts";

const tag = "Webhooks";

const read = { auth: "session", permission: "webhooks:read", keyScopes: ["webhooks:read"] } as const;
const write = { auth: "session", permission: "webhooks:write", keyScopes: ["webhooks:write"] } as const;

const capability = z.enum(portalCapabilities);
const author = z.object({ type: z.enum(["user", "api_key"]), id: idOut, name: z.string().nullable() });

const portalLink = z
  .object({
    id: idOut,
    orgId: idOut,
    name: z.string(),
    capabilities: z.array(capability),
    readOnly: z.boolean().meta({ description: "No capability changes anything." }),
    embedOrigins: z.array(z.string()),
    refreshUrl: z.string().nullable(),
    createdBy: author,
    createdAt: timeOut,
    expiresAt: timeOut.meta({ description: "End of the code and of the session." }),
    openedAt: timeOut.nullable().meta({ description: "When the code was exchanged." }),
    revokedAt: timeOut.nullable(),
  })
  .meta({ id: "PortalLink" });

const newLink = z.object({
  orgId: id.nullish().meta({ description: "Required unless the caller belongs to one organization." }),
  name: nameIn.meta({ description: "Shown in the audit trail as `portal: <name>`." }),
  capabilities: z
    .array(capability)
    .max(portalCapabilities.length)
    .optional()
    .meta({ description: "What the session may do besides seeing webhooks and deliveries.", default: [] }),
  readOnly: z.boolean().optional().meta({ description: "Refuse capabilities that change something.", default: false }),
  expiresInMinutes: z.int().min(1).max(60).optional().meta({ default: 30 }),
  embedOrigins: z
    .array(z.string().max(2_000))
    .max(10)
    .optional()
    .meta({ description: "Exact https origins of the pages that may embed the portal.", default: [] }),
  refreshUrl: z.string().max(2_000).nullish().meta({
    description: "Page of the embedding application that opens a new link; must hold no secret.",
  }),
});

const create = route({
  method: "POST",
  path: "/webhooks/portal-links",
  audit: "portal_link.create",
  access: write,
  tag,
  summary: "Create a link to the webhook portal",
  description:
    "Opens one session for the developers of one organization. `reveal_secrets` is granted by users with a completed MFA challenge only.",
  body: newLink,
  example: { orgId: exampleId, name: "Acme developers", embedOrigins: ["https://app.example.com"] },
  status: 201,
  idempotent: true,
  noStore: true,
  reply: portalLink.extend({
    portalUrl: z.string().meta({ description: "The page with the code behind `#code=`; it is not shown again." }),
  }),
  errors: [
    "organization_context_required",
    "organization_not_found",
    "delegation_denied",
    "mfa_required",
    "limit_reached",
    "site_restricted",
  ],
  async handle({ body, rpc }, { services, publicUrl }) {
    const wanted = {
      orgId: body.orgId ?? "",
      name: body.name,
      capabilities: body.capabilities ?? [],
      readOnly: body.readOnly ?? false,
      expiresInMinutes: body.expiresInMinutes ?? 30,
      embedOrigins: body.embedOrigins ?? [],
      refreshUrl: body.refreshUrl ?? "",
    };
    const { link, code } = await services.portals.createPortalLink(wanted, await rpc());
    const made = linkOf(link);
    return { ...made, portalUrl: `${publicUrl}/portal/${made.id}#code=${code}` };
  },
});

const list = route({
  method: "GET",
  path: "/webhooks/portal-links",
  access: read,
  tag,
  summary: "Links to the webhook portal, newest first",
  description: "Without their codes. A link is listed for a day after its end.",
  query: listQuery.extend({ orgId: id.optional().meta({ description: only.organization }) }),
  reply: z.object({ data: z.array(portalLink), pagination }),
  errors: ["organization_not_found"],
  async handle({ query, rpc }, { services }) {
    const wanted = { page: pageOf(query), orgId: query.orgId ?? "" };
    const reply = await services.portals.listPortalLinks(wanted, await rpc());
    return { data: reply.links.map(linkOf), pagination: paginationOf(reply.page) };
  },
});

const revoke = route({
  method: "DELETE",
  path: "/webhooks/portal-links/:id",
  audit: "portal_link.revoke",
  access: write,
  tag,
  summary: "Revoke a link to the webhook portal",
  description: "Ends its session, too: no gateway admits it after the reply.",
  params: idParams,
  reply: success,
  errors: ["portal_link_not_found", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    await services.portals.revokePortalLink({ id: params.id }, await rpc());
    return { success: true as const };
  },
});

/** Requests of a page that has no session yet. */
const open = { access: { auth: "none" }, perAddressPerMinute: "portal", noStore: true, tag } as const;

const exchange = route({
  ...open,
  method: "POST",
  path: "/webhooks/portal-links/:id/exchange",
  summary: "Exchange the code of a portal link for its session",
  description: "Once. Unknown, used, expired and revoked codes get the same reply.",
  params: idParams,
  body: z.object({ code: z.string().min(1).max(255) }),
  example: { code: "the text behind #code=" },
  reply: z
    .object({ token: z.string().meta({ description: "Bearer token until `link.expiresAt`." }), link: portalLink })
    .meta({ id: "PortalSession" }),
  errors: ["invalid_exchange_code", "rate_limited"],
  async handle({ params, body, rpc }, { services }) {
    const wanted = { linkId: params.id, code: body.code };
    const { token, link } = await services.portals.exchangePortalCode(wanted, await rpc());
    return { token, link: linkOf(link) };
  },
});

const page = route({
  ...open,
  method: "GET",
  path: "/webhooks/portal-links/:id/page",
  summary: "What the page of a portal link needs before it has a session",
  description: "An unknown link gets the reply of one without origins, address and branding.",
  params: idParams,
  reply: z
    .object({ embedOrigins: z.array(z.string()), refreshUrl: z.string().nullable(), branding: branding.nullable() })
    .meta({ id: "PortalPage" }),
  errors: ["rate_limited"],
  async handle({ params, rpc }, { services }) {
    const reply = await services.portals.getPortalPage({ linkId: params.id }, await rpc());
    return {
      embedOrigins: reply.embedOrigins,
      refreshUrl: reply.refreshUrl || null,
      branding: reply.branding ? brandingOf(reply.branding) : null,
    };
  },
});

function linkOf(link: PortalLink | undefined): z.input<typeof portalLink> {
  if (!link) throw new Error("identity answered without a portal link");
  const capabilities = link.capabilities.filter(isPortalCapability);
  return {
    id: link.id,
    orgId: link.orgId,
    name: link.name,
    capabilities,
    readOnly: isReadOnly(capabilities),
    embedOrigins: link.embedOrigins,
    refreshUrl: link.refreshUrl || null,
    createdBy: {
      type: author.shape.type.parse(link.author?.type),
      id: link.author?.id ?? "",
      name: link.author?.name || null,
    },
    createdAt: timeOf(link.createdAt),
    expiresAt: timeOf(link.expiresAt),
    openedAt: timeOrNull(link.openedAt),
    revokedAt: timeOrNull(link.revokedAt),
  };
}

export const portalLinkRoutes: readonly Route[] = [create, list, revoke, exchange, page];
