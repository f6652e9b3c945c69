import type { ItemOf } from "@muster/client";
import { useGet } from "../../api/queries.ts";
import { OperationButton } from "../../operations/operation-buttons.tsx";
import { policyPath, requireFactor } from "../../operations/require-factor.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { Notice } from "../../parts/notice.tsx";
import { lacksFactor } from "../../rules/factor-state.ts";

/** Says that a person signs in with a password alone, and what ends that; nothing of other accounts. */
export function FactorMissing({ of: user }: { of: ItemOf<"/api/v1/users"> }) {
  const { orgId } = user;
  const isMissing = lacksFactor(user);
  const mayRead = useWhyNot(`GET ${policyPath}`) === null;
  const policy = useGet(
    policyPath,
    { params: { path: { id: orgId ?? "" } } },
    { enabled: isMissing && mayRead && orgId !== null },
  );
  if (!isMissing) return null;
  const isRequired = policy.data?.effective.requireSecondFactor;
  return (
    <Notice
      tone="warn"
      title="No second factor."
      action={isRequired === false ? <OperationButton of={user} operation={requireFactor} /> : null}
    >
      {isRequired
        ? "The sign-in policy requires one: the person sets it up at the next sign-in."
        : "The account can be entered with its password alone."}
    </Notice>
  );
}
