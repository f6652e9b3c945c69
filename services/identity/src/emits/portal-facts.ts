import type { Tx } from "@muster/db";
import type { CallContext, Caller } from "@muster/kit";
import { auditEvent } from "@muster/service";
import type { PortalLinkRow } from "../store/portal-links.ts";

/** Writes the audit row of something that happened to a portal link, in its organization's chain. */
export function recordPortalLink(
  tx: Tx,
  who: CallContext,
  row: PortalLinkRow,
  action: `portal_link.${"create" | "open" | "revoke"}`,
  details: Record<string, unknown>,
  at: Date,
): void {
  const resource = { type: "portal_link", id: row.id, name: row.name };
  const fact = { action, resource, orgId: row.org_id, partnerId: row.partner_id, details };
  tx.emit(auditEvent("identity", who, fact, at));
}

/** The session of a link, as the author of what happens in it. */
export function portalCaller(row: PortalLinkRow): Caller {
  const author = { type: row.author_type, id: row.author_id, name: row.author_name };
  return {
    actor: { type: "portal", id: row.id, email: null, name: `portal: ${row.name}`, role: null, department: null },
    scope: "organization",
    partnerId: row.partner_id,
    orgId: row.org_id,
    orgAccess: { mode: "list", orgIds: [row.org_id] },
    siteIds: null,
    permissions: [],
    mfaAt: null,
    sessionId: null,
    keyId: null,
    portal: { linkId: row.id, capabilities: row.capabilities, author },
  };
}

/** The fields of a link that its author sets. */
export const visibleLinkFields = (row: PortalLinkRow) => ({
  name: row.name,
  capabilities: row.capabilities,
  embedOrigins: row.embed_origins,
  refreshUrl: row.refresh_url,
  expiresAt: row.expires_at.toISOString(),
});
