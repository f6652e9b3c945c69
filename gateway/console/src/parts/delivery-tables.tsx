import type { ItemOf } from "@muster/client";
import type { ReactNode } from "react";
import type { BodyOf } from "../api/queries.ts";
import { FoldedRuns } from "./folded-runs.tsx";
import plain from "./plain-table.module.css";
import { PlainTable } from "./plain-table.tsx";
import { Status } from "./status.tsx";

type Row = ItemOf<"/api/v1/webhooks/{id}/deliveries">;
type Attempt = BodyOf<"/api/v1/webhooks/{id}/deliveries/{deliveryId}">["attempts"][number];

type DeliveriesProps = {
  rows: readonly Row[];
  /** Whether there are older ones. */
  hasMore: boolean;
  linkOf(row: Row): ReactNode;
  timeOf(time: string): ReactNode;
};

const answerOf = ({ responseStatus, errorMessage }: Row) => responseStatus ?? errorMessage ?? "";

const textOf = (row: Row) => JSON.stringify([row.event, row.status, answerOf(row)]);

/** Deliveries, each leading to its own page; without a column of answers while none of them has one. */
export function DeliveriesTable({ rows, hasMore, linkOf, timeOf }: DeliveriesProps) {
  const hasAnswers = rows.some((row) => answerOf(row) !== "");
  return (
    <PlainTable columns={["Event", "Status", ...(hasAnswers ? ["Answer"] : []), "Attempts", "Time"]}>
      <FoldedRuns
        rows={rows}
        hasMore={hasMore}
        textOf={textOf}
        lineOf={(row, more) => (
          <tr>
            <th scope="row">
              {linkOf(row)} {more}
            </th>
            <td>
              <Status of={row.status} />
            </td>
            {hasAnswers ? <td>{answerOf(row)}</td> : null}
            <td>{row.attempt}</td>
            <td>{timeOf(row.createdAt)}</td>
          </tr>
        )}
      />
    </PlainTable>
  );
}

type AttemptsProps = { attempts: readonly Attempt[]; timeOf(time: string): ReactNode };

/** The attempts of a delivery, with what the receiver answered. */
export const AttemptsTable = ({ attempts, timeOf }: AttemptsProps) => (
  <PlainTable columns={["No.", "Began", "Answer", "Time", "Text"]}>
    {attempts.map((attempt) => (
      <tr key={attempt.number}>
        <td>{attempt.number}</td>
        <td>{timeOf(attempt.startedAt)}</td>
        <td>{attempt.responseStatus ?? attempt.errorCode ?? (attempt.interrupted ? "ended unseen" : "")}</td>
        <td>{attempt.totalMs === null ? "" : `${attempt.totalMs} ms`}</td>
        <td className={plain.message}>{(attempt.errorMessage ?? attempt.responseBody ?? "").slice(0, 300)}</td>
      </tr>
    ))}
  </PlainTable>
);
