import type { ItemOf } from "@muster/client";
import type { ReactNode } from "react";
import type { BodyOf } from "../api/queries.ts";
import plain from "./plain-table.module.css";
import { PlainTable } from "./plain-table.tsx";
import { Status } from "./status.tsx";

type Row = ItemOf<"/api/v1/webhooks/{id}/deliveries">;
type Attempt = BodyOf<"/api/v1/webhooks/{id}/deliveries/{deliveryId}">["attempts"][number];

type DeliveriesProps = { rows: readonly Row[]; linkOf(row: Row): ReactNode; timeOf(time: string): ReactNode };

const answerOf = ({ responseStatus, errorMessage }: Row) => responseStatus ?? errorMessage ?? "";

/** Deliveries, each leading to its own page; without a column of answers while none of them has one. */
export function DeliveriesTable({ rows, linkOf, timeOf }: DeliveriesProps) {
  const hasAnswers = rows.some((row) => answerOf(row) !== "");
  return (
    <PlainTable columns={["Event", "Status", ...(hasAnswers ? ["Answer"] : []), "Attempts", "Time"]}>
      {rows.map((row) => (
        <tr key={row.id}>
          <th scope="row">{linkOf(row)}</th>
          <td>
            <Status of={row.status} />
          </td>
          {hasAnswers ? <td>{answerOf(row)}</td> : null}
          <td>{row.attempt}</td>
          <td>{timeOf(row.createdAt)}</td>
        </tr>
      ))}
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
