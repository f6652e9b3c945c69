import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import {
  AppError,
  type CallContext,
  clampPage,
  isUuid,
  type PortalAuthor,
  type PortalCapability,
  sessionEnded,
  systemCaller,
  uuidv7,
} from "@muster/kit";
import { PortalRecordSchema, PortalService } from "@muster/proto/muster/identity/v1/portal_pb";
import { callContext } from "@muster/rpc";
import {
  checkedBefore,
  idempotentTx,
  requireMfa,
  requireOrganization,
  requirePermission,
  requireWholeOrganization,
} from "@muster/service";
import { organizationInScope } from "../commands/tenant-in-scope.ts";
import type { PortalDeps } from "../deps.ts";
import { afterChange, announce } from "../emits/changes.ts";
import { portalCaller, recordPortalLink, visibleLinkFields } from "../emits/portal-facts.ts";
import { newToken, tokenHash } from "../rules/opaque-token.ts";
import { newPortalFields } from "../rules/portal-link.ts";
import {
  countOpenLinks,
  findPortalPage,
  findPortalSession,
  insertPortalLink,
  listPortalLinks,
  lockPortalLink,
  markRevoked,
  openPortalLink,
} from "../store/portal-links.ts";
import { refusedToken } from "../store/unknown-keys.ts";
import { brandingMessage } from "./branding.ts";
import { requireGateway } from "./edge.ts";
import { organizationFilter } from "./list-filters.ts";
import { authorMessage, linkMessage } from "./portal-message.ts";

const system = systemCaller("identity");
const digestBytes = 32;

type Handlers = ServiceImpl<typeof PortalService>;

/** Links to the webhook portal, and their sessions (docs/webhooks/portal.md). */
export function portalService(deps: PortalDeps): Handlers {
  return { ...links(deps), ...revocation(deps), ...openings(deps) };
}

function links(deps: PortalDeps): Pick<Handlers, "createPortalLink" | "listPortalLinks"> {
  const { db, now, linksPerOrganization } = deps;
  return {
    async createPortalLink(request, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const at = now();
      const fields = newPortalFields(request);
      requireGrant(deps, context, fields.capabilities);
      const tenant = await organizationInScope(deps, context, namedOrganization(context, request.orgId));
      const { createPortalLink } = PortalService.method;
      const make = async (tx: Tx) => {
        if ((await countOpenLinks(tx, tenant.orgId)) >= linksPerOrganization) {
          const facts = { limit: linksPerOrganization };
          throw new AppError("limit_reached", "The organization's limit of open portal links is reached", { facts });
        }
        const { token: code, hash: codeDigest } = newToken("ptc_");
        const expiresAt = new Date(at.getTime() + fields.minutes * 60_000);
        const link = {
          ...fields,
          ...tenant,
          id: uuidv7(at.getTime()),
          codeDigest,
          author: authorOf(context),
          expiresAt,
        };
        const row = await insertPortalLink(tx, link, at);
        recordPortalLink(
          tx,
          context,
          row,
          "portal_link.create",
          { changes: { before: {}, after: visibleLinkFields(row) } },
          at,
        );
        return { link: linkMessage(row), code };
      };
      return idempotentTx(db, context, createPortalLink, request, checkedBefore, make, deps.box);
    },

    async listPortalLinks({ orgId, page }, handler) {
      const context = callContext(handler);
      requirePermission(context, "webhooks:read");
      requireOrganization(context);
      const filter = await organizationFilter(deps, context, orgId);
      const { rows, info } = await listPortalLinks(db, context, filter, clampPage(page ?? {}));
      return { links: rows.map(linkMessage), page: info };
    },
  };
}

function revocation(deps: PortalDeps): Pick<Handlers, "revokePortalLink"> {
  const { db, now } = deps;
  return {
    async revokePortalLink({ id }, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const changeId = await db.tx(context, async (tx) => {
        const row = isUuid(id) ? await lockPortalLink(tx, context, id) : null;
        if (!row) throw new AppError("portal_link_not_found", "Portal link not found");
        if (row.revoked_at !== null) return null;
        const at = now();
        await markRevoked(tx, row.id, at);
        recordPortalLink(tx, context, row, "portal_link.revoke", { opened: row.opened_at !== null }, at);
        return announce(tx, { kind: "portal", linkId: row.id });
      });
      if (changeId !== null) await afterChange({ db }, [changeId]);
      return {};
    },
  };
}

function openings(deps: PortalDeps): Pick<Handlers, "exchangePortalCode" | "resolvePortalSession" | "getPortalPage"> {
  const { db, now } = deps;
  return {
    async exchangePortalCode({ linkId, code }, handler) {
      requireGateway(handler);
      const context = callContext(handler);
      const { token, hash: tokenDigest } = newToken("ptl_");
      const opened = await db.tx({ ...context, caller: system }, async (tx) => {
        const codeDigest = tokenHash(code);
        const row = isUuid(linkId) ? await openPortalLink(tx, { id: linkId, codeDigest, tokenDigest }) : null;
        if (row) recordPortalLink(tx, { ...context, caller: portalCaller(row) }, row, "portal_link.open", {}, now());
        return row;
      });
      if (!opened) throw await refusedToken(deps, context, invalidCode());
      return { token, link: linkMessage(opened) };
    },

    async resolvePortalSession({ digest }, handler) {
      requireGateway(handler);
      const row = digest.length === digestBytes ? await findPortalSession(db, digest) : null;
      if (!row || row.org_status === "deleted" || row.partner_status === "deleted") {
        throw await refusedToken(deps, callContext(handler), sessionEnded());
      }
      const session = create(PortalRecordSchema, {
        linkId: row.id,
        orgId: row.org_id,
        partnerId: row.partner_id,
        name: row.name,
        capabilities: row.capabilities,
        author: authorMessage(row),
        expiresAt: timestampFromDate(row.expires_at),
        partnerStatus: row.partner_status,
        orgStatus: row.org_status,
      });
      return { session };
    },

    async getPortalPage({ linkId }, handler) {
      requireGateway(handler);
      const found = isUuid(linkId) ? await findPortalPage(db, linkId) : null;
      if (!found) return {};
      const { embed_origins: embedOrigins, refresh_url: refreshUrl } = found.link;
      return { embedOrigins, refreshUrl: refreshUrl ?? "", branding: brandingMessage(found.branding) };
    },
  };
}

/** A link concerns a whole organization, as its webhooks do. */
function requireWriter(context: CallContext): void {
  requirePermission(context, "webhooks:write");
  requireOrganization(context);
  requireWholeOrganization(context);
}

/** Secrets are revealed to whoever could reveal them: a user with a second factor, and no API key. */
function requireGrant(
  { mfaMaxAgeMinutes, now }: PortalDeps,
  context: CallContext,
  capabilities: readonly PortalCapability[],
): void {
  if (!capabilities.includes("reveal_secrets")) return;
  if (context.caller.actor.type !== "user") {
    const facts = { capabilities: ["reveal_secrets"] };
    throw new AppError("delegation_denied", "Only a user may grant reveal_secrets", { facts });
  }
  requireMfa(context, mfaMaxAgeMinutes, now());
}

function namedOrganization({ caller }: CallContext, named: string): string {
  const orgId = (named || (caller.scope === "organization" ? (caller.orgId ?? "") : "")).toLowerCase();
  if (orgId === "") throw new AppError("organization_context_required", "Organization context required");
  return orgId;
}

function authorOf({ caller: { actor } }: CallContext): PortalAuthor {
  const { type, id, name, email } = actor;
  if (type !== "user" && type !== "api_key")
    throw new AppError("permission_denied", "Only users and API keys create links");
  return { type, id, name: name ?? email };
}

const invalidCode = () => new AppError("invalid_exchange_code", "Invalid or expired token exchange code");
