import { type AttentionSource, requirePermission, requireWholeOrganization } from "@muster/service";
import { streamHealth } from "../rules/stream-health.ts";
import { failingStreams } from "../store/streams.ts";

/** Streams that fail, for those who may read the streams. */
export const failingStreamSource: AttentionSource = {
  guard(context) {
    requirePermission(context, "audit:write");
    requireWholeOrganization(context);
  },
  async find(tx, context, orgId, most) {
    const rows = await failingStreams(tx, context, orgId, most);
    return rows.map((row) => ({
      kind: "audit_stream",
      record: { type: "audit_stream", id: row.id, name: row.name },
      orgId: row.org_id,
      partnerId: row.partner_id,
      since: row.failing_since ?? row.last_error_at ?? row.created_at,
      sentence: streamHealth({ ...row, lag_seconds: 0 }).reason,
    }));
  },
};
