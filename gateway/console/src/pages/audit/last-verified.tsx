import { isProblem } from "@muster/client";
import { useGet } from "../../api/queries.ts";
import { FailureState, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { soundness } from "../../rules/soundness.ts";

/** The newest finished verification of an organization's chain. */
export function useLastVerified(orgId: string) {
  const read = useGet("/api/v1/audit-logs/verify", {
    params: { query: { orgId, status: "done", limit: "1", skipCount: "true" } },
  });
  const last = read.data?.data[0];
  const isVerified = Boolean(last?.finishedAt);
  return { ...read, last, isVerified, isSound: isVerified && !last?.verdicts.some(isProblem) };
}

/** What the newest finished verification of an organization's chain found. */
export function LastVerified({ orgId }: { orgId: string }) {
  const { data, last, isSound, error, refetch } = useLastVerified(orgId);
  if (error) return <FailureState failure={error.failure} onRetry={() => void refetch()} />;
  if (!data) return <Loading what="Loading verifications" />;
  if (!last?.finishedAt) {
    return (
      <p>
        <Status of="not verified" tone="warn" /> This chain was not verified in the last 30 days.
      </p>
    );
  }
  return (
    <p>
      <Status of={isSound ? "verified" : "not as sealed"} tone={isSound ? "good" : "bad"} /> Last verified{" "}
      <Time at={last.finishedAt} />, {last.rows.toLocaleString()} rows
      {last.from === null ? "" : ` from #${last.from.toLocaleString()} on`}: {soundness(last.verdicts)}.
    </p>
  );
}
