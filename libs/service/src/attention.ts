import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { AppError, type AttentionKind, type CallContext, isUuid, validationError } from "@muster/kit";
import type { AttentionService } from "@muster/proto/muster/common/v1/attention_pb";
import { callContext } from "@muster/rpc";
import { requireOrganization, requirePermission } from "./guards.ts";

/** Records of one kind that are listed; beyond it the kind is reported as cut. */
const itemsMax = 100;

/** A record that needs attention, or with `record` null `count` of them. */
export type AttentionRow = {
  record: { type: string; id: string; name: string } | null;
  /** Both null for the platform's own. */
  orgId: string | null;
  partnerId: string | null;
  since: Date;
  /** One sentence for users. */
  sentence: string;
  count?: number;
};

export type AttentionSource = {
  kind: AttentionKind;
  /** The guard of the kind's own list: a caller whom it refuses sees nothing of the kind. */
  guard(context: CallContext): void;
  /** At most `most` rows in the caller's access scope, of one organization or with null of all. */
  find(context: CallContext, orgId: string | null, most: number): Promise<AttentionRow[]>;
};

/** What needs attention among the records of a service. Throws `validation_failed`. */
export function attentionService(sources: readonly AttentionSource[]): ServiceImpl<typeof AttentionService> {
  return {
    async listAttention({ orgId }, handler) {
      const context = callContext(handler);
      requirePermission(context, "devices:read");
      requireOrganization(context);
      if (orgId !== "" && !isUuid(orgId)) throw validationError({ orgId: ["Must be a UUID"] });
      const found = await Promise.all(
        sources
          .filter(({ guard }) => admits(guard, context))
          .map(async ({ kind, find }) => ({ kind, rows: await find(context, orgId || null, itemsMax + 1) })),
      );
      return {
        items: found.flatMap(({ kind, rows }) => rows.slice(0, itemsMax).map((row) => itemOf(kind, row))),
        cutKinds: found.filter(({ rows }) => rows.length > itemsMax).map(({ kind }) => kind),
      };
    },
  };
}

function admits(guard: AttentionSource["guard"], context: CallContext): boolean {
  try {
    guard(context);
    return true;
  } catch (error) {
    // Every refusal of a guard is typed; another error is a failure of ours.
    if (error instanceof AppError) return false;
    throw error;
  }
}

const itemOf = (kind: AttentionKind, { record, orgId, partnerId, since, sentence, count = 1 }: AttentionRow) => ({
  kind,
  recordType: record?.type ?? "",
  recordId: record?.id ?? "",
  recordName: record?.name ?? "",
  orgId: orgId ?? "",
  partnerId: partnerId ?? "",
  since: timestampFromDate(since),
  sentence,
  count,
});
