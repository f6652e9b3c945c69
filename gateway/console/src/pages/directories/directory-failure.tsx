import { type BodyOf, useGet } from "../../api/queries.ts";
import { directoryOperations } from "../../operations/directories.tsx";
import { OneButton } from "../../operations/operation-buttons.tsx";
import { CopyButton } from "../../parts/list-head.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { Instant } from "../../parts/time.tsx";

const rotate = directoryOperations.find(({ id }) => id === "directory.rotate");

/** Why a directory fails, since when, and what mends it, before all else. */
export function DirectoryFailure({ of: directory }: { of: BodyOf<"/api/v1/directories/{id}"> }) {
  const { id, health, tokens, lastCycle } = directory;
  const hasToken = tokens.length > 0;
  const newest = useGet(
    "/api/v1/directories/{id}/requests",
    { params: { path: { id }, query: { refused: "true", limit: "1" } } },
    { everyMs: 15_000, enabled: hasToken },
  ).data?.data[0];
  return (
    <Notice
      tone="bad"
      title={hasToken ? "Its requests are refused." : "All of its requests are refused."}
      action={
        hasToken ? (
          newest && <CopyButton what="error" text={() => errorText(newest)} />
        ) : rotate ? (
          <OneButton of={directory} operation={rotate} />
        ) : null
      }
    >
      {health ? <Sentence of={health.reason} /> : null}
      {newest?.detail ? ` The last: ${newest.detail}` : null}
      {lastCycle ? (
        <span className="soft">
          {" "}
          Since <Instant at={lastCycle.startedAt} />.
          {hasToken ? " Mend it in the directory, then send again from there." : ""}
        </span>
      ) : null}
    </Notice>
  );
}

type Refused = BodyOf<"/api/v1/directories/{id}/requests">["data"][number];

/** A refused request for the administrator of the directory, who mends it there. */
const errorText = ({ at, operation, answer, scimType, detail }: Refused) =>
  [`${at} ${operation}`, answer, [scimType, detail].filter(Boolean).join(": ")].filter(Boolean).join(", ");
