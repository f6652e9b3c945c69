import { isProblem } from "@muster/client";
import type { ReactNode } from "react";
import { useGet } from "../../api/queries.ts";
import { FailureState, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { soundness } from "../../rules/soundness.ts";

const newest = (orgId: string) => ({ params: { query: { orgId, status: "done", limit: "1", skipCount: "true" } } });

/** Whether an organization's chain was found as it was sealed; nothing while that is not known. */
export function SealState({ orgId }: { orgId: string }) {
  const { data } = useGet("/api/v1/audit-logs/verify", newest(orgId));
  if (!data) return null;
  const last = data.data[0];
  if (!last?.finishedAt) return <Status of="not verified" tone="warn" />;
  const isSound = !last.verdicts.some(isProblem);
  return <Status of={isSound ? "verified" : "not as sealed"} tone={isSound ? "good" : "bad"} />;
}

type LastVerifiedProps = { orgId: string; children?: ReactNode };

/** What the newest finished verification of an organization's chain found, else what `children` say is to be done. */
export function LastVerified({ orgId, children }: LastVerifiedProps) {
  const { data, error, refetch } = useGet("/api/v1/audit-logs/verify", newest(orgId));
  const last = data?.data[0];
  if (error) return <FailureState failure={error.failure} onRetry={() => void refetch()} />;
  if (!data) return <Loading what="Loading verifications" />;
  if (!last?.finishedAt) {
    return (
      <p>
        <SealState orgId={orgId} /> This chain was not verified in the last 30 days.{children}
      </p>
    );
  }
  return (
    <p>
      <SealState orgId={orgId} /> Last verified <Time at={last.finishedAt} />, {last.rows.toLocaleString()} rows
      {last.from === null ? "" : ` from #${last.from.toLocaleString()} on`}: {soundness(last.verdicts)}.
    </p>
  );
}
