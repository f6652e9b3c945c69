import { type BodyOf, useGet } from "../../api/queries.ts";
import { directoryOperations } from "../../operations/directories.tsx";
import { OneButton } from "../../operations/operation-buttons.tsx";
import { CopyButton } from "../../parts/list-head.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { directoryRemedy } from "../../rules/directory-remedy.ts";

const rotate = directoryOperations.find(({ id }) => id === "directory.rotate");

/** That a directory fails, and what mends it, before all else; the requests below say why. */
export function DirectoryFailure({ of: directory }: { of: BodyOf<"/api/v1/directories/{id}"> }) {
  const { id, scimUrl, health, tokens } = directory;
  const hasToken = tokens.length > 0;
  const newest = useGet(
    "/api/v1/directories/{id}/requests",
    { params: { path: { id }, query: { refused: "true", limit: "1" } } },
    { everyMs: 15_000, enabled: hasToken },
  ).data?.data[0];
  return (
    <Notice
      tone="bad"
      title={health ? <Sentence of={health.reason} /> : "Its requests are refused."}
      action={
        hasToken ? (
          newest && <CopyButton what="the refusal and its remedy" text={() => textOf(newest, scimUrl)} />
        ) : rotate ? (
          <OneButton of={directory} operation={rotate} />
        ) : null
      }
    >
      {hasToken ? newest && directoryRemedy(newest) : "It has no token: enter a new one in the directory."}
    </Notice>
  );
}

type Refused = BodyOf<"/api/v1/directories/{id}/requests">["data"][number];

/** A refused request and what mends it, for the administrator of the directory. */
function textOf(refused: Refused, scimUrl: string): string {
  const { at, operation, answer, scimType, detail } = refused;
  const why = [scimType, detail].filter(Boolean).join(": ");
  return `${[`${at} ${operation} at ${scimUrl}`, answer, why].filter(Boolean).join(", ")}\n${directoryRemedy(refused)}`;
}
