import { isProblem } from "@muster/client";
import { useEffect, useState } from "react";
import { api } from "../../api/api.ts";
import type { Failure } from "../../api/call.ts";
import { dataOf, Failed, useForget, useGet } from "../../api/queries.ts";
import { Operation } from "../../parts/operation.tsx";
import { FailureState } from "../../parts/states.tsx";
import { soundness } from "../../rules/soundness.ts";
import { LastVerified } from "./last-verified.tsx";

/** Verifies the organization's chain from this row on, and shows the result. */
export function Verification({ orgId, seq }: { orgId: string; seq: number }) {
  const [id, setId] = useState<string | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const job = useGet(
    "/api/v1/audit-logs/verify/{id}",
    { params: { path: { id: id ?? "" } } },
    { enabled: id !== null, everyMs: 1_000 },
  );
  const begin = () => {
    setFailure(null);
    dataOf(api.POST("/api/v1/audit-logs/verify", { body: { orgId, from: seq } })).then(
      (made) => setId(made.id),
      (error: unknown) => setFailure(error instanceof Failed ? error.failure : null),
    );
  };
  const { data } = job;
  const forget = useForget();
  // The state of the seal above the page is of the newest verification.
  const isDone = data?.status === "done";
  useEffect(() => {
    if (isDone) void forget("/api/v1/audit-logs/verify");
  }, [isDone, forget]);
  const isRunning = data?.status === "queued" || data?.status === "running";
  return (
    <>
      {id === null ? (
        <LastVerified orgId={orgId}>
          {" "}
          Press “Verify from this row on” to see whether its rows are as they were sealed.
        </LastVerified>
      ) : null}
      {failure ? <FailureState failure={failure} /> : null}
      <p role="status">
        {data === undefined
          ? ""
          : isRunning
            ? `Verifying, ${data.rows.toLocaleString()} rows so far …`
            : data.status === "failed"
              ? "The verification failed: try again."
              : data.verdicts.some(isProblem)
                ? `Verified: ${soundness(data.verdicts)}.`
                : `Verified: ${data.rows.toLocaleString()} rows from #${seq.toLocaleString()} on are as they were sealed.`}
      </p>
      <div>
        <Operation name="POST /api/v1/audit-logs/verify" onClick={begin}>
          Verify from this row on
        </Operation>
      </div>
    </>
  );
}
