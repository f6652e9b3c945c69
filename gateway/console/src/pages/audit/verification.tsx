import { isProblem, verdictText } from "@muster/client";
import { useState } from "react";
import { api } from "../../api/api.ts";
import type { Failure } from "../../api/call.ts";
import { dataOf, Failed, useGet } from "../../api/queries.ts";
import { Operation } from "../../parts/operation.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";

/** What the newest finished verification of the chain found; nothing is started by looking. */
function LastVerified({ orgId }: { orgId: string }) {
  const query = { orgId, status: "done", limit: "1", skipCount: "true" };
  const { data, error, refetch } = useGet("/api/v1/audit-logs/verify", { params: { query } });
  const last = data?.data[0];
  if (error) return <FailureState failure={error.failure} onRetry={() => void refetch()} />;
  if (!data) return <Loading what="Loading what was verified" />;
  if (!last?.finishedAt) return <p className="soft">This chain was not verified in the last 30 days.</p>;
  const faults = last.verdicts.filter(isProblem);
  return (
    <p>
      Last verified <Time at={last.finishedAt} />, {last.rows.toLocaleString()} rows
      {last.from === null ? "" : ` from #${last.from.toLocaleString()} on`}:{" "}
      {faults.length > 0 ? `not as sealed: ${faults.map(verdictText).join("; ")}` : "as they were sealed"}.
    </p>
  );
}

/** Verifies the organization's chain from this row on, and says what was found. */
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
  const isRunning = data?.status === "queued" || data?.status === "running";
  return (
    <>
      {id === null ? <LastVerified orgId={orgId} /> : null}
      {failure ? <FailureState failure={failure} /> : null}
      <p role="status">
        {data === undefined
          ? ""
          : isRunning
            ? `Verifying, ${data.rows.toLocaleString()} rows so far …`
            : data.status === "failed"
              ? "The verification failed: try again."
              : data.verdicts.some(isProblem)
                ? `Not as sealed: ${data.verdicts.filter(isProblem).map(verdictText).join("; ")}.`
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
