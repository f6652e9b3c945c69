import { Link } from "@tanstack/react-router";
import { type CSSProperties, Fragment, type ReactNode, useState } from "react";
import { ActionName } from "../../parts/action-name.tsx";
import { auditEvents } from "../../parts/audit-line.tsx";
import { EventList } from "../../parts/event-list.tsx";
import { Lines, Section } from "../../parts/facts.tsx";
import figures from "../../parts/fleet.module.css";
import { to } from "../../parts/links.ts";
import plain from "../../parts/plain-table.module.css";
import { PlainTable } from "../../parts/plain-table.tsx";
import { Time } from "../../parts/time.tsx";
import { allRows } from "../../rules/machine-actions.ts";
import { rowText } from "../../rules/row-sentence.ts";
import { runsOf } from "../../rules/runs.ts";
import { shareOf } from "../../rules/share-of.ts";
import { actorName, type Report } from "./report.ts";
import type { Counts } from "./totals.tsx";

/** Rows of a long table that are shown at first, and newest entries. */
const [most, mostNewest] = [8, 10];

type Filters = { category?: string; actions?: string; actorId?: string };
type Part = Counts & { key: string; name: ReactNode; filters: Filters };
type CountsTableProps = {
  title: string;
  /** What a row is, as the title of its column, and in the plural. */
  column: string;
  noun: string;
  of: readonly Part[];
  /** How many there are, where not all of them are listed. */
  total?: number | undefined;
  report: Report;
  orgId: string | undefined;
};

const barOf = (count: number) => ({ "--share": count }) as CSSProperties;

/** How much of the largest part another one is, and how much of it ended how: in the colours of the chart. */
const Bar = ({ of: { total, success, failure, denied }, largest }: { of: Counts; largest: number }) => (
  <span className={figures.share} aria-hidden>
    {success > 0 ? <i data-tone="off" style={barOf(success)} /> : null}
    {failure > 0 ? <i data-tone="bad" style={barOf(failure)} /> : null}
    {denied > 0 ? <i data-tone="warn" style={barOf(denied)} /> : null}
    {total < largest ? <i style={barOf(largest - total)} /> : null}
  </span>
);

/** Parts of a report with their bars, the largest first as the API has them, and their sum. */
function CountsTable({ title, column, noun, of: parts, total = parts.length, report, orgId }: CountsTableProps) {
  const [isWhole, showWhole] = useState(false);
  const shown = isWhole ? parts : parts.slice(0, most);
  const largest = Math.max(...parts.map((part) => part.total));
  const link = (filters: Filters & { result?: string }) =>
    to("/audit", { ...allRows, from: report.from, to: report.to, orgId, ...filters });
  return (
    <Section title={title}>
      <PlainTable columns={[column, "Entries", "Failed or denied"]}>
        {shown.map((part) => (
          <tr key={part.key}>
            <th scope="row">
              <Lines>
                <Link {...link(part.filters)}>{part.name}</Link>
                <Bar of={part} largest={largest} />
              </Lines>
            </th>
            <td className={plain.end}>
              {part.total.toLocaleString()} <small className="soft">{shareOf(part.total, report.counts.total)}</small>
            </td>
            <td className={plain.end}>
              <Undone of={part} link={(result) => link({ ...part.filters, result })} />
            </td>
          </tr>
        ))}
        <tr>
          <th scope="row">
            All {total === 1 ? "" : `${total.toLocaleString()} `}
            {noun}
          </th>
          <td className={plain.end}>
            <b>{report.counts.total.toLocaleString()}</b> <small className="soft">100 %</small>
          </td>
          <td className={plain.end}>
            <Undone of={report.counts} />
          </td>
        </tr>
      </PlainTable>
      {parts.length > shown.length ? (
        <div>
          <button type="button" onClick={() => showWhole(true)}>
            Show {parts.length < total ? "the first" : "all"} {parts.length.toLocaleString()}
          </button>
        </div>
      ) : null}
    </Section>
  );
}

const undone = [
  ["failure", "bad", "failed"],
  ["denied", "warn", "denied"],
] as const;

type UndoneProps = { of: Counts; link?(result: string): ReturnType<typeof to> };

/** How many did not do what they were to; with a link, each number leads to them. */
function Undone({ of: counts, link }: UndoneProps) {
  const some = undone.filter(([result]) => counts[result] > 0);
  if (some.length === 0) return null;
  return (
    <span>
      {some.map(([result, tone, word], at) => {
        const text = `${counts[result].toLocaleString()} ${word}`;
        return (
          <Fragment key={result}>
            {at > 0 ? ", " : null}
            {link ? (
              <Link {...link(result)} className={tone}>
                {text}
              </Link>
            ) : (
              <b className={tone}>{text}</b>
            )}
          </Fragment>
        );
      })}
    </span>
  );
}

type TableProps = { of: Report; orgId: string | undefined };

/** The categories that have entries. */
export function ByCategory({ of: report, orgId }: TableProps) {
  const parts = (report.byCategory ?? [])
    .filter(({ total }) => total > 0)
    .sort((a, b) => b.total - a.total)
    .map((row) => ({ ...row, key: row.category, name: row.category, filters: { category: row.category } }));
  if (parts.length === 0) return null;
  return (
    <CountsTable title="By category" column="Category" noun="categories" of={parts} report={report} orgId={orgId} />
  );
}

/** What was done, most often first. */
export function ByAction({ of: report, orgId }: TableProps) {
  const parts = (report.byAction ?? [])
    .filter(({ total }) => total > 0)
    .map((row) => ({
      ...row,
      key: row.action,
      name: <ActionName of={row.action} />,
      filters: { actions: row.action },
    }));
  if (parts.length === 0) return null;
  return <CountsTable title="By action" column="Action" noun="actions" of={parts} report={report} orgId={orgId} />;
}

/** Who did most. */
export function ByActor({ of: report, orgId }: TableProps) {
  const parts = (report.users ?? report.topActors ?? []).map((row) => ({
    ...row,
    key: `${row.actorType} ${row.id}`,
    name: (
      <span>
        {actorName(row)}{" "}
        <span className="soft">
          last <Time at={row.lastAt} />
        </span>
      </span>
    ),
    filters: { actorId: row.id },
  }));
  if (parts.length === 0) return null;
  const total = report.userTotal ?? report.actorTotal;
  return (
    <CountsTable title="By actor" column="Actor" noun="actors" of={parts} total={total} report={report} orgId={orgId} />
  );
}

/** The newest entries of a report that counts certain actions. */
export function Newest({ of: { rows = [] }, orgId }: TableProps) {
  if (rows.length === 0) return null;
  return (
    <Section title="Newest">
      <EventList of={auditEvents(runsOf(rows, rowText).slice(0, mostNewest), { orgId, says: "both" })} />
    </Section>
  );
}
