import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { PortalAuthorSchema, PortalLinkSchema } from "@muster/proto/muster/identity/v1/portal_pb";
import type { PortalLinkRow } from "../store/portal-links.ts";

export const authorMessage = ({ author_type: type, author_id: id, author_name: name }: PortalLinkRow) =>
  create(PortalAuthorSchema, { type, id, name: name ?? "" });

export function linkMessage(row: PortalLinkRow) {
  return create(PortalLinkSchema, {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    capabilities: row.capabilities,
    embedOrigins: row.embed_origins,
    refreshUrl: row.refresh_url ?? "",
    author: authorMessage(row),
    createdAt: timestampFromDate(row.created_at),
    expiresAt: timestampFromDate(row.expires_at),
    ...(row.opened_at ? { openedAt: timestampFromDate(row.opened_at) } : {}),
    ...(row.revoked_at ? { revokedAt: timestampFromDate(row.revoked_at) } : {}),
  });
}
