import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useGet } from "../../api/queries.ts";
import { ActionName } from "../../parts/action-name.tsx";
import { Chart } from "../../parts/chart.tsx";
import { Section } from "../../parts/facts.tsx";
import filters from "../../parts/filter-bar.module.css";
import { to } from "../../parts/links.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import plain from "../../parts/plain-table.module.css";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState, Loading, NotAllowed } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Time } from "../../parts/time.tsx";
import { TimeRange } from "../../parts/time-range.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { everyDay } from "../../rules/days.ts";
import { highest } from "../../rules/highest.ts";
import { allRows } from "../../rules/machine-actions.ts";
import { shareOf } from "../../rules/share-of.ts";
import { type Counts, Totals } from "./totals.tsx";

type Action = Counts & { action: string; category: string };
type Actor = Counts & { id: string; actorType: string; email: string | null; name: string | null; lastAt: string };
type Report = {
  from: string;
  to: string;
  counts: Counts;
  byDay: (Counts & { day: string })[];
  byCategory?: (Counts & { category: string })[];
  byAction?: Action[];
  users?: Actor[];
  topActors?: Actor[];
};

const kinds = {
  categories: "By category",
  "user-activity": "By actor",
  "security-events": "Security events",
  compliance: "Compliance",
} as const;
type Kind = keyof typeof kinds;

const isKind = (text: string | undefined): text is Kind => text !== undefined && Object.hasOwn(kinds, text);

/** Entries of the audit trail counted: by day, category, action and actor. */
export function Reports() {
  const why = useWhyNot("GET /api/v1/audit-logs/reports/categories");
  const [{ kind: wanted, orgId, from, to }, change] = useFilters();
  const kind = isKind(wanted) ? wanted : "categories";
  const query = { ...(orgId ? { orgId } : {}), ...(from ? { from } : {}), ...(to ? { to } : {}) };
  const report = useGet(`/api/v1/audit-logs/reports/${kind}`, { params: { query } }, { enabled: why === null });
  return (
    <>
      <PageTitle title="Audit reports" sub={orgId ? <NameOf id={orgId} /> : undefined} />
      <Tabs section="audit" label="Pages about the audit trail" />
      {why === null ? (
        <search className={filters.bar}>
          <label className={filters.choice}>
            <span>Report</span>
            <select value={kind} onChange={(event) => change({ kind: event.target.value })}>
              {Object.entries(kinds).map(([value, title]) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
          </label>
          <TimeRange none="last 30 days" />
        </search>
      ) : (
        <NotAllowed why={why} />
      )}
      {report.error ? <FailureState failure={report.error.failure} onRetry={() => void report.refetch()} /> : null}
      {why === null && report.isPending ? <Loading what="Counting" /> : null}
      {report.data ? <Shown of={report.data as Report} orgId={orgId} /> : null}
    </>
  );
}

/** A day of the report, which are those of UTC. */
const dayOf = (day: string) =>
  new Date(`${day}T00:00:00.000Z`).toLocaleDateString(undefined, { month: "short", day: "numeric", timeZone: "UTC" });

const none = { total: 0, success: 0, failure: 0, denied: 0 };
const outcomes = [
  ["total", undefined],
  ["success", undefined],
  ["failure", "bad"],
  ["denied", "warn"],
] as const;
const columns = ["Entries", "Success", "Failure", "Denied"];

/** The counts of a row of a table; those that failed lead to the entries of these filters. */
type Cells = (row: Counts, of: { category?: string; action?: string; actorId?: string }) => ReactNode;

function Shown({ of: report, orgId }: { of: Report; orgId: string | undefined }) {
  const { counts, byDay, byCategory, byAction, users, topActors } = report;
  const actors = users ?? topActors;
  const time = { from: report.from, to: report.to };
  const cells: Cells = (row, of) =>
    outcomes.map(([name, tone]) => (
      <td key={name} className={plain.end}>
        {tone && row[name] > 0 ? (
          <Link {...to("/audit", { ...allRows, ...time, ...of, orgId, result: name })} className={tone}>
            {row[name].toLocaleString()}
          </Link>
        ) : (
          <span className={row[name] === 0 ? "soft" : undefined}>{row[name].toLocaleString()}</span>
        )}{" "}
        {name === "total" ? <small className="soft">{shareOf(row.total, counts.total)}</small> : null}
      </td>
    ));
  return (
    <>
      <Totals of={counts} time={report} orgId={orgId} />
      {byDay.length > 0 ? <ByDay of={report} /> : <p className="soft">No entry in this time.</p>}
      {byCategory && counts.total > 0 ? (
        <Section title="By category">
          <PlainTable columns={["Category", ...columns]}>
            {byCategory
              .filter(({ total }) => total > 0)
              .map((row) => (
                <tr key={row.category}>
                  <th scope="row">{row.category}</th>
                  {cells(row, { category: row.category })}
                </tr>
              ))}
          </PlainTable>
        </Section>
      ) : null}
      <ByActor actors={actors} orgId={orgId} cells={cells} />
      {byAction && byAction.length > 0 ? (
        <Section title="By action">
          <PlainTable columns={["Action", "Category", ...columns]}>
            {byAction.map((row) => (
              <tr key={row.action}>
                <th scope="row">
                  <Link {...to("/audit", { orgId, action: row.action })}>
                    <ActionName of={row.action} />
                  </Link>
                </th>
                <td>{row.category}</td>
                {cells(row, { action: row.action })}
              </tr>
            ))}
          </PlainTable>
        </Section>
      ) : null}
    </>
  );
}

/** Entries by day, and the day that stands far above the others. */
function ByDay({ of: report }: { of: Report }) {
  const { byDay } = report;
  const first = byDay.map(({ day }) => day).sort()[0] ?? report.from;
  const isLater = first > report.from;
  const from = isLater ? first : report.from;
  const days = everyDay(byDay, { from, to: report.to }, (day) => ({ ...none, day }));
  const top = highest(days.map(({ total }) => total));
  return (
    <Section title="By day" action={isLater ? <p>no entry before {dayOf(from)}</p> : null}>
      <Chart
        label="Entries by day"
        series={[
          { name: "Success", tone: "off" },
          { name: "Failure", tone: "bad" },
          { name: "Denied", tone: "warn" },
        ]}
        points={days.map(({ day, success, failure, denied }) => ({
          at: `${day}T00:00:00.000Z`,
          values: [success, failure, denied],
        }))}
        mark={
          top
            ? {
                index: top.at,
                title: `${dayOf(days[top.at]?.day ?? from)}: ${days[top.at]?.total.toLocaleString()} entries`,
                text: `${top.times} times a usual day`,
              }
            : undefined
        }
      />
    </Section>
  );
}

function ByActor({
  actors,
  orgId,
  cells,
}: {
  actors: Report["topActors"] | Report["users"];
  orgId: string | undefined;
  cells: Cells;
}) {
  return actors && actors.length > 0 ? (
    <Section title="By actor">
      <PlainTable columns={["Actor", ...columns, "Last"]}>
        {actors.map((row) => (
          <tr key={`${row.actorType} ${row.id}`}>
            <th scope="row">
              {row.email || row.name ? (
                <Link {...to("/audit", { orgId, user: row.email ?? row.name ?? undefined })}>
                  {row.email ?? row.name}
                </Link>
              ) : (
                row.actorType
              )}
            </th>
            {cells(row, { actorId: row.id })}
            <td>
              <Time at={row.lastAt} />
            </td>
          </tr>
        ))}
      </PlainTable>
    </Section>
  ) : null;
}
