import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Database, Tx } from "@muster/db";
import { AppError, type AttentionKind, attentionKinds, type CallContext, isUuid, validationError } from "@muster/kit";
import type { AttentionService } from "@muster/proto/muster/common/v1/attention_pb";
import { callContext } from "@muster/rpc";
import { requireOrganization, requirePermission } from "./guards.ts";

/** Records of one kind that are listed; beyond it the kind is reported as cut. */
const itemsMax = 100;

/** A record that needs attention, or with `record` null `count` of them. */
export type AttentionRow = {
  kind: AttentionKind;
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
  /** The guard of the records' own list: a caller whom it refuses sees none of them. */
  guard(context: CallContext): void;
  /**
   * Rows in the caller's access scope, of one organization or with null of all; those of a kind beyond `most` need not
   * be read. Issues all statements before its first await: those of all sources are one batch.
   */
  find(tx: Tx, context: CallContext, orgId: string | null, most: number): Promise<AttentionRow[]>;
};

/** What needs attention among the records of a service, read in one round trip. Throws `validation_failed`. */
export function attentionService(
  db: Database,
  sources: readonly AttentionSource[],
): ServiceImpl<typeof AttentionService> {
  return {
    async listAttention({ orgId }, handler) {
      const context = callContext(handler);
      requirePermission(context, "devices:read");
      requireOrganization(context);
      if (orgId !== "" && !isUuid(orgId)) throw validationError({ orgId: ["Must be a UUID"] });
      const admitted = sources.filter(({ guard }) => admits(guard, context));
      if (admitted.length === 0) return { items: [], cutKinds: [] };
      const findAll = (tx: Tx) =>
        Promise.all(admitted.map(({ find }) => find(tx, context, orgId || null, itemsMax + 1)));
      const found = (await db.inOneBatch(context, findAll, { readOnly: true })).flat();
      const kinds = attentionKinds.map((kind) => ({ kind, rows: found.filter((row) => row.kind === kind) }));
      return {
        items: kinds.flatMap(({ rows }) => rows.slice(0, itemsMax).map(itemOf)),
        cutKinds: kinds.filter(({ rows }) => rows.length > itemsMax).map(({ kind }) => kind),
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

const itemOf = ({ kind, record, orgId, partnerId, since, sentence, count = 1 }: AttentionRow) => ({
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
