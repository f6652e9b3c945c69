import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { OperationButton } from "../../operations/operation-buttons.tsx";
import { requireFactor } from "../../operations/require-factor.ts";
import { to } from "../../parts/links.ts";
import { Notice } from "../../parts/notice.tsx";
import { factorGap, lacksFactor } from "../../rules/factor-state.ts";

type FactorGapProps = { orgId: string | undefined; isRequired: boolean | undefined };

/**
 * How many people have no second factor, and what ends that in one organization; nothing where nobody does. The API's
 * filter finds a directory's people, too: they are not counted.
 */
export function FactorGap({ orgId, isRequired }: FactorGapProps) {
  const filters = { status: "active", mfaEnabled: "false", orgId };
  const query = { ...filters, limit: "100", skipCount: "true" };
  const { data } = useGet("/api/v1/users", { params: { query } });
  const lacking = data?.data.filter(lacksFactor) ?? [];
  const [first] = lacking;
  const title = factorGap(lacking.length, data?.pagination.nextCursor === null);
  if (!first || title === null) return null;
  return (
    <Notice
      tone="warn"
      title={title}
      action={
        <>
          <Link {...to("/people", filters)} className="button">
            See them
          </Link>
          {orgId && isRequired === false ? <OperationButton of={first} operation={requireFactor} /> : null}
        </>
      }
    >
      {isRequired
        ? "The sign-in policy requires one: they set it up at their next sign-in."
        : "An account that has a password can be entered with it alone."}
    </Notice>
  );
}
