import { type BodyOf, useList } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { MoreRows } from "../../parts/more-rows.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { Segments } from "../../parts/segments.tsx";
import { EmptyState, ListState } from "../../parts/states.tsx";
import { Instant } from "../../parts/time.tsx";
import { runsOf } from "../../rules/runs.ts";

type Request = BodyOf<"/api/v1/directories/{id}/requests">["data"][number];

/** What of a request is in its row besides its time: the same several times in a row are one, with the newest time. */
const textOf = ({ operation, filter, answer, scimType, detail }: Request) =>
  JSON.stringify([operation, filter, answer, scimType, detail]);

const answers = [
  { key: "", title: "All", tone: null, count: null },
  { key: "true", title: "Refused", tone: "bad", count: null },
] as const;

/** The codes of an answer, as SCIM has them. */
const codesOf = ({ answer, scimType }: Request) => [answer, scimType].filter(Boolean).join(" ");

/** Why a request was refused, and the codes for who looks for them. */
const Why = ({ of: request }: { of: Request }) => (
  <div>
    {request.detail}
    <div className="soft">
      <small>{codesOf(request)}</small>
    </div>
  </div>
);

const inOneLine = (text: string) => text.replaceAll(" ", "\u00a0");

type DirectoryRequestsProps = { id: string; refused: string; onRefused(refused: string): void };

/** What a directory asked and how it was answered, newest first; `refused` is the API's filter. */
export function DirectoryRequests({ id, refused, onRefused }: DirectoryRequestsProps) {
  const list = useList(
    "/api/v1/directories/{id}/requests",
    { params: { path: { id }, query: { refused } } },
    { everyMs: 15_000 },
  );
  const isRefused = refused === "true";
  const hasWhy = isRefused || list.rows.some(({ detail }) => detail !== null);
  return (
    <Section
      title={isRefused ? "Refused requests" : "Requests"}
      action={<Segments label="Answers" of={answers} chosen={refused} choose={onRefused} />}
    >
      <ListState list={list} what="Loading the log">
        <EmptyState title={isRefused ? "No request was refused." : "The directory has asked nothing yet."} />
      </ListState>
      {list.rows.length > 0 ? (
        <PlainTable columns={["Request", ...(hasWhy ? ["Why"] : []), ...(isRefused ? [] : ["Answer"]), "Time"]} isBrief>
          {runsOf(list.rows, textOf).map(({ first: row, count }) => (
            <tr key={row.id}>
              <th scope="row">
                {inOneLine(row.operation)}
                {count > 1 ? <span className="soft">{inOneLine(` ${count.toLocaleString()} ×`)}</span> : null}
                {row.filter ? <div className="soft">{row.filter}</div> : null}
              </th>
              {hasWhy ? <td>{row.detail === null ? isRefused ? codesOf(row) : null : <Why of={row} />}</td> : null}
              {isRefused ? null : <td>{row.detail === null ? codesOf(row) : "refused"}</td>}
              <td>
                <Instant at={row.at} />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
      <MoreRows of={list}>Older requests</MoreRows>
    </Section>
  );
}
