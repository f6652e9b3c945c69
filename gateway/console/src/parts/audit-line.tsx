import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { actorWords, rowTitle } from "../rules/action-words.ts";
import { rowInShort } from "../rules/changed-fields.ts";
import { namedTypes, rowSentence } from "../rules/row-sentence.ts";
import { isOfSession } from "../rules/session-actions.ts";
import { iconOf } from "./action-icon.tsx";
import type { ListedEvent } from "./event-list.tsx";
import { toRecord } from "./links.ts";
import { NameOf } from "./name-of.tsx";

export type AuditRow = ItemOf<"/api/v1/audit-logs/logs">;

type AuditLineProps = {
  of: AuditRow;
  orgId: string | undefined;
  /** What a list about one actor or one record leaves to say, who did it or to what; else both. */
  says: "who" | "what" | "both";
  /** The row that the page is about is no link. */
  isCurrent?: boolean;
  /** How many rows the line stands for. */
  count?: number;
};

/** One line of what an audit row says, which leads to its page. */
function AuditLine({ of: row, orgId, says, isCurrent = false, count = 1 }: AuditLineProps) {
  const inShort = rowInShort(row);
  const line = (
    <>
      {says === "both" ? <Whole of={row} /> : rowTitle(row)} {says === "what" ? <b>{nameIn(row)}</b> : null}
      {/* A sign-in is nobody else's, and a refused one perhaps not the person's either. */}
      {says === "who" && !isOfSession(row.action) ? <span className="soft">by {actorWords(row)}</span> : null}
      {inShort ? <small className="soft"> · {inShort}</small> : null}
      {count > 1 ? <small className="soft"> · {count.toLocaleString()} times</small> : null}
    </>
  );
  return isCurrent ? (
    line
  ) : (
    <Link
      {...toRecord("/audit/$id", { id: row.id }, { orgId })}
      className={row.result === "success" ? undefined : "bad"}
    >
      {line}
    </Link>
  );
}

type EventsProps<R> = Pick<AuditLineProps, "orgId" | "says"> & {
  /** The row that the page is about. */
  currentId?: string;
  timeOf?(row: R): ListedEvent["time"];
};

/** Audit rows as events of a list: each line is one of them, or so many that say the same. */
export const auditEvents = <R extends AuditRow>(
  lines: readonly { first: R; count: number }[],
  { orgId, says, currentId, timeOf }: EventsProps<R>,
): ListedEvent[] =>
  lines.map(({ first: row, count }) => {
    const isCurrent = row.id === currentId;
    return {
      key: row.id,
      at: row.timestamp,
      icon: iconOf(row.action),
      tone: row.result === "success" ? undefined : "bad",
      text: <AuditLine of={row} orgId={orgId} says={says} isCurrent={isCurrent} count={count} />,
      time: timeOf?.(row),
      isCurrent,
    };
  });

/** Who did what to what. */
function Whole({ of: row }: { of: AuditRow }) {
  const { who, did } = rowSentence(row);
  return (
    <>
      <b>{who}</b> {did} <b>{nameIn(row)}</b>
    </>
  );
}

/** The name of its record, where that is not the actor. */
const nameIn = ({ resource: { type, id, name }, user }: AuditRow) =>
  id === user.id ? null : (name ?? (id && namedTypes.includes(type) ? <NameOf id={id} /> : null));
