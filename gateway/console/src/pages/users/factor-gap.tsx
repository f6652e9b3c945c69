import { useGet } from "../../api/queries.ts";
import { OperationButton } from "../../operations/operation-buttons.tsx";
import { requireFactor } from "../../operations/require-factor.ts";
import { Notice } from "../../parts/notice.tsx";
import { factorGap } from "../../rules/factor-state.ts";

type FactorGapProps = { orgId: string | undefined; isRequired: boolean | undefined };

/** How many people sign in with a password alone, and what ends that in one organization; nothing where nobody does. */
export function FactorGap({ orgId, isRequired }: FactorGapProps) {
  const query = { status: "active", limit: "100", skipCount: "true", ...(orgId ? { orgId } : {}) };
  const { data } = useGet("/api/v1/users", { params: { query } });
  const gap = data ? factorGap(data.data, data.pagination.nextCursor !== null) : null;
  if (!gap) return null;
  return (
    <Notice
      tone="warn"
      title={gap.title}
      action={orgId && isRequired === false ? <OperationButton of={gap.first} operation={requireFactor} /> : null}
    >
      {isRequired
        ? "The sign-in policy requires one: they set it up at their next sign-in."
        : "Their accounts can be entered with a password alone."}
    </Notice>
  );
}
