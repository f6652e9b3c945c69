import type { ReactNode } from "react";
import { type BodyOf, useList } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { MoreRows } from "../../parts/more-rows.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { Segments } from "../../parts/segments.tsx";
import { EmptyState, ListState } from "../../parts/states.tsx";
import { Instant } from "../../parts/time.tsx";
import { directoryChange } from "../../rules/directory-remedy.ts";
import { groupsOf, type Run, runsOf } from "../../rules/runs.ts";
import { useProductName } from "./product.tsx";

export type Request = BodyOf<"/api/v1/directories/{id}/requests">["data"][number];

/** What of a request is in its row besides its time. */
export const requestText = ({ operation, filter, answer, scimType, detail }: Request) =>
  JSON.stringify([operation, filter, answer, scimType, detail]);

const answers = [
  { key: "", title: "All", tone: null, count: null },
  { key: "true", title: "Refused", tone: "bad", count: null },
] as const;

/** The codes of an answer, as SCIM has them. */
const codesOf = ({ answer, scimType }: Request) => [answer, scimType].filter(Boolean).join(" ");

/** Why a request was refused, with the codes for who looks for them. */
export const whyOf = (request: Request) => [codesOf(request), request.detail].filter(Boolean).join(": ");

const inOneLine = (text: string) => text.replaceAll(" ", "\u00a0");

type DirectoryRequestsProps = { id: string; preset: string | null; refused: string; onRefused(refused: string): void };

/**
 * What a directory requested and how it was answered, newest first; `refused` is the API's filter. What was refused for
 * the same reason is one row, with what mends it.
 */
export function DirectoryRequests({ id, preset, refused, onRefused }: DirectoryRequestsProps) {
  const list = useList(
    "/api/v1/directories/{id}/requests",
    { params: { path: { id }, query: { refused } } },
    { everyMs: 15_000 },
  );
  const product = useProductName(preset);
  const isRefused = refused === "true";
  const hasWhy = list.rows.some(({ detail }) => detail !== null);
  return (
    <Section
      title={isRefused ? "Refused requests" : "Requests"}
      action={<Segments label="Answers" of={answers} chosen={refused} choose={onRefused} />}
    >
      <ListState list={list} what="Loading the log">
        <EmptyState title={isRefused ? "No request was refused." : "The directory has asked nothing yet."} />
      </ListState>
      {list.rows.length === 0 ? null : isRefused ? (
        <PlainTable columns={["Request", "Why", product ? `Change in ${product}` : "Change there", "Last"]} isBrief>
          {groupsOf(list.rows, requestText).map((group) => (
            <RequestLine key={group.text} of={group}>
              <td>
                <Why of={group.first} />
              </td>
              <td>
                <div>
                  <b>{directoryChange(group.first)}</b>
                </div>
              </td>
            </RequestLine>
          ))}
        </PlainTable>
      ) : (
        <PlainTable columns={["Request", ...(hasWhy ? ["Why"] : []), "Answer", "Time"]} isBrief>
          {runsOf(list.rows, requestText).map((run) => (
            <RequestLine key={run.first.id} of={run}>
              {hasWhy ? <td>{run.first.detail === null ? null : <Why of={run.first} />}</td> : null}
              <td>{run.first.detail === null ? codesOf(run.first) : "refused"}</td>
            </RequestLine>
          ))}
        </PlainTable>
      )}
      {isRefused && list.hasMore ? (
        <p className="soft">Counted among the newest {list.rows.length.toLocaleString()}.</p>
      ) : null}
      <MoreRows of={list}>Older requests</MoreRows>
    </Section>
  );
}

/** What was requested and how often, the cells of what is said of it, and when that was last. */
const RequestLine = ({ of: { first, count }, children }: { of: Run<Request>; children: ReactNode }) => (
  <tr>
    <th scope="row">
      {inOneLine(first.operation)}
      {count > 1 ? <span className="soft">{inOneLine(` ${count.toLocaleString()} ×`)}</span> : null}
      {first.filter ? <div className="soft">{first.filter}</div> : null}
    </th>
    {children}
    <td>
      <Instant at={first.at} />
    </td>
  </tr>
);

/** Why a request was refused; its codes are beside the pointer, and copied with what mends it. */
const Why = ({ of: request }: { of: Request }) => (
  <div className="soft" data-tip={codesOf(request)}>
    {request.detail ?? codesOf(request)}
  </div>
);
