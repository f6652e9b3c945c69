import { isProblem } from "@muster/client";
import { useEffect, useState } from "react";
import { api } from "../../api/api.ts";
import type { Failure } from "../../api/call.ts";
import { dataOf, Failed, useForget, useGet } from "../../api/queries.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Operation } from "../../parts/operation.tsx";
import { toast } from "../../parts/said.ts";
import { FailureState } from "../../parts/states.tsx";
import { soundness } from "../../rules/soundness.ts";
import { LastVerified, useLastVerified } from "./last-verified.tsx";

const begins = "POST /api/v1/audit-logs/verify";

type VerificationProps = { orgId: string; seq: number };

/** A verification of the organization's chain from a row on: how far it is; what it found is said as a message. */
function useVerification({ orgId, seq }: VerificationProps) {
  const [id, setId] = useState<string | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const { data } = useGet(
    "/api/v1/audit-logs/verify/{id}",
    { params: { path: { id: id ?? "" } } },
    { enabled: id !== null, everyMs: (job) => (job?.status === "done" || job?.status === "failed" ? false : 1_000) },
  );
  const forget = useForget();
  useEffect(() => {
    if (data?.status === "failed") toast("The verification failed: try again.", "failure");
    if (data?.status !== "done") return;
    const { rows, verdicts } = data;
    if (verdicts.some(isProblem)) toast(`Verified: ${soundness(verdicts)}.`, "failure");
    else toast(`Verified: ${rows.toLocaleString()} rows from #${seq.toLocaleString()} on are as they were sealed.`);
    // The state of the seal is of the newest verification.
    void forget("/api/v1/audit-logs/verify");
  }, [data, seq, forget]);
  const begin = () => {
    setFailure(null);
    dataOf(api.POST("/api/v1/audit-logs/verify", { body: { orgId, from: seq } })).then(
      (made) => setId(made.id),
      (error: unknown) => setFailure(error instanceof Failed ? error.failure : null),
    );
  };
  const isRunning = id !== null && data?.status !== "done" && data?.status !== "failed";
  const running = isRunning ? `Verifying, ${(data?.rows ?? 0).toLocaleString()} rows so far …` : null;
  return { begin, running, failure };
}

/** Says that the chain of a row was not verified or is not as it was sealed, for who can verify it. */
export function NotVerified(props: VerificationProps) {
  const { data, last, isVerified, isSound } = useLastVerified(props.orgId);
  const why = useWhyNot(begins);
  const { begin, running, failure } = useVerification(props);
  if (!data || isSound || why !== null) return null;
  return (
    <>
      <Notice
        tone={isVerified ? "bad" : "warn"}
        title={isVerified ? "Not as sealed." : "Not verified."}
        action={<VerifyButton begin={begin} running={running} />}
      >
        {last && isVerified
          ? `The newest verification of this chain found: ${soundness(last.verdicts)}.`
          : "Nobody has compared this chain with its seal in the last 30 days."}
      </Notice>
      {failure ? <FailureState failure={failure} /> : null}
    </>
  );
}

/** What the newest verification found; one that is well can be verified again here, any other above the page. */
export function Verification(props: VerificationProps) {
  const { isSound } = useLastVerified(props.orgId);
  const why = useWhyNot(begins);
  const { begin, running, failure } = useVerification(props);
  return (
    <>
      <LastVerified orgId={props.orgId} />
      {failure ? <FailureState failure={failure} /> : null}
      {isSound || why !== null ? (
        <div>
          <VerifyButton begin={begin} running={running} />
        </div>
      ) : null}
    </>
  );
}

const VerifyButton = ({ begin, running }: { begin(): void; running: string | null }) => (
  <>
    <span role="status">{running}</span>
    {running === null ? (
      <Operation name={begins} onClick={begin}>
        Verify from this row on
      </Operation>
    ) : null}
  </>
);
