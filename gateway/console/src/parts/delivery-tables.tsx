import type { ItemOf } from "@muster/client";
import { ChevronDown, ChevronRight } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { BodyOf } from "../api/queries.ts";
import { runsOf } from "../rules/runs.ts";
import plain from "./plain-table.module.css";
import { PlainTable } from "./plain-table.tsx";
import { Status } from "./status.tsx";

type Row = ItemOf<"/api/v1/webhooks/{id}/deliveries">;
type Attempt = BodyOf<"/api/v1/webhooks/{id}/deliveries/{deliveryId}">["attempts"][number];

type ShownBy = { linkOf(row: Row): ReactNode; timeOf(time: string): ReactNode };
type DeliveriesProps = ShownBy & {
  rows: readonly Row[];
  /** Whether there are older ones. */
  hasMore: boolean;
};

const answerOf = ({ responseStatus, errorMessage }: Row) => responseStatus ?? errorMessage ?? "";

/** From so many deliveries on that say the same after one another, the newest stands for them. */
const leastFolded = 3;
const textOf = (row: Row) => JSON.stringify([row.event, row.status, answerOf(row), row.attempt]);

/**
 * Deliveries, each leading to its own page; without a column of answers while none of them has one. Those that say the
 * same after one another are one row, which shows the others on request.
 */
export function DeliveriesTable({ rows, hasMore, ...by }: DeliveriesProps) {
  const [opened, setOpened] = useState<readonly string[]>([]);
  const hasAnswers = rows.some((row) => answerOf(row) !== "");
  return (
    <PlainTable columns={["Event", "Status", ...(hasAnswers ? ["Answer"] : []), "Attempts", "Time"]}>
      {runsOf(rows, textOf).flatMap(({ first, rest, text, count }, at, runs) => {
        const isFolded = count >= leastFolded;
        const isOpen = opened.includes(text);
        const others = opened.filter((each) => each !== text);
        const more = isFolded ? (
          <MoreAlike
            count={rest.length}
            isAll={!hasMore || at < runs.length - 1}
            isOpen={isOpen}
            toggle={() => setOpened(isOpen ? others : [...others, text])}
          />
        ) : null;
        return [first, ...(isFolded && !isOpen ? [] : rest)].map((row) => (
          <Delivery key={row.id} of={row} hasAnswers={hasAnswers} more={row === first ? more : null} {...by} />
        ));
      })}
    </PlainTable>
  );
}

type DeliveryProps = ShownBy & { of: Row; hasAnswers: boolean; more: ReactNode };

const Delivery = ({ of: row, hasAnswers, more, linkOf, timeOf }: DeliveryProps) => (
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
);

type MoreAlikeProps = { count: number; isAll: boolean; isOpen: boolean; toggle(): void };

/** How many deliveries a row stands for besides its own, or at least how many; shows them, or hides them again. */
function MoreAlike({ count, isAll, isOpen, toggle }: MoreAlikeProps) {
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <button type="button" className="soft" data-weight="link" aria-expanded={isOpen} onClick={toggle}>
      and {count.toLocaleString()}
      {isAll ? "" : " or more"} like it <Chevron size={14} aria-hidden />
    </button>
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
