import { type BodyOf, useList } from "../../api/queries.ts";
import { directoryOperations } from "../../operations/directories.tsx";
import { OneButton } from "../../operations/operation-buttons.tsx";
import { CopyButton } from "../../parts/list-head.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { directoryChange, directoryRemedy } from "../../rules/directory-remedy.ts";
import { groupsOf, type Run } from "../../rules/runs.ts";
import { type Request, requestText, whyOf } from "./directory-requests.tsx";
import { useProductName } from "./product.tsx";

const rotate = directoryOperations.find(({ id }) => id === "directory.rotate");

/** That a directory fails, and what mends it, before all else; the requests below say why. */
export function DirectoryFailure({ of: directory }: { of: BodyOf<"/api/v1/directories/{id}"> }) {
  const { id, preset, scimUrl, health, tokens } = directory;
  const hasToken = tokens.length > 0;
  const where = useProductName(preset) ?? "the directory";
  // As the requests below read them.
  const { rows } = useList(
    "/api/v1/directories/{id}/requests",
    { params: { path: { id }, query: { refused: "true" } } },
    { everyMs: 15_000, enabled: hasToken },
  );
  return (
    <Notice
      tone="bad"
      title={health ? <Sentence of={health.reason} /> : "Its requests are refused."}
      action={
        hasToken ? (
          rows.length > 0 && (
            <CopyButton what="what to change" text={() => textOf(groupsOf(rows, requestText), scimUrl, where)} />
          )
        ) : rotate ? (
          <OneButton of={directory} operation={rotate} />
        ) : null
      }
    >
      {hasToken
        ? rows.length > 0 && directoryRemedy(rows, where)
        : "It has no token: enter a new one in the directory."}
    </Notice>
  );
}

/** The refused requests of an address and what mends each kind of them, for the administrator of the directory. */
const textOf = (refused: readonly Run<Request>[], scimUrl: string, where: string): string =>
  [
    `Requests at ${scimUrl} are refused. To change in ${where}:`,
    ...refused.map(
      ({ first, count }) =>
        `- ${directoryChange(first)}. (${count} × ${first.operation}, ${whyOf(first)}, the last at ${first.at})`,
    ),
    "Then let it provision again.",
  ].join("\n");
