import { useGet } from "../../api/queries.ts";
import { Chart } from "../../parts/chart.tsx";
import { Section } from "../../parts/facts.tsx";
import filters from "../../parts/filter-bar.module.css";
import { useWhyNot } from "../../parts/me.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { Sides } from "../../parts/sides.tsx";
import { FailureState, Loading, NotAllowed } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { TimeRange } from "../../parts/time-range.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { everyDay } from "../../rules/days.ts";
import { highest } from "../../rules/highest.ts";
import { Outliers } from "./outliers.tsx";
import { isReportKind, type Report, type ReportKind, reportKinds, shownDay } from "./report.ts";
import { ByAction, ByActor, ByCategory, Newest } from "./report-tables.tsx";
import { Totals } from "./totals.tsx";

/** Entries of the audit trail counted: by day, category, action and actor. */
export function Reports() {
  const why = useWhyNot("GET /api/v1/audit-logs/reports/categories");
  const [{ kind: wanted, orgId, from, to }, change] = useFilters();
  const kind = isReportKind(wanted) ? wanted : "categories";
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
              {Object.entries(reportKinds).map(([value, title]) => (
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
      {report.data ? <Shown of={report.data as Report} kind={kind} orgId={orgId} /> : null}
    </>
  );
}

const none = { total: 0, success: 0, failure: 0, denied: 0 };

type ShownProps = { of: Report; kind: ReportKind; orgId: string | undefined };

function Shown({ of: report, kind, orgId }: ShownProps) {
  const tables = { of: report, orgId };
  return (
    <>
      <Totals of={report.counts} time={report} orgId={orgId} />
      {report.byDay.length > 0 ? (
        <>
          <ByDay of={report} kind={kind} orgId={orgId} />
          <Sides
            main={
              <>
                <ByAction {...tables} />
                {report.users ? <ByActor {...tables} /> : null}
                <Newest {...tables} />
              </>
            }
            side={
              <>
                <ByCategory {...tables} />
                {report.topActors ? <ByActor {...tables} /> : null}
              </>
            }
          />
        </>
      ) : (
        <p className="soft">No entry in this time.</p>
      )}
    </>
  );
}

/** Entries by day, and what made the days that stand far above the others. */
function ByDay({ of: report, kind, orgId }: ShownProps) {
  const { byDay } = report;
  const first = byDay.map(({ day }) => day).sort()[0] ?? report.from;
  const isLater = first > report.from;
  const from = isLater ? first : report.from;
  const days = everyDay(byDay, { from, to: report.to }, (day) => ({ ...none, day }));
  const top = highest(days.map(({ total }) => total));
  return (
    <Section title="By day" action={isLater ? <p>no entry before {shownDay(from)}</p> : null}>
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
                title: `${shownDay(days[top.at]?.day ?? from)}: ${days[top.at]?.total.toLocaleString()} entries`,
                text: `${top.times} times a usual day`,
              }
            : undefined
        }
      />
      <Outliers of={report} days={days} kind={kind} orgId={orgId} />
    </Section>
  );
}
