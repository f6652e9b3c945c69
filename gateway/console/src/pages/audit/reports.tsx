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
import { useZone, zoneName } from "../../parts/zone.ts";
import { everyDay } from "../../rules/days.ts";
import { timeSpan } from "../../rules/time-span.ts";
import { Outliers } from "./outliers.tsx";
import { type DayCounts, isReportKind, type Report, type ReportKind, reportKinds, shownDay } from "./report.ts";
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

/** What stands out, the entries by day, then what they are. */
function Shown({ of: report, kind, orgId }: ShownProps) {
  const tables = { of: report, orgId };
  const { byDay } = report;
  if (byDay.length === 0) return <p className="soft">No entry in this time.</p>;
  const [first = report.from] = byDay.map(({ day }) => day).sort();
  const [, from = first] = [first, report.from].sort();
  const days = everyDay(byDay, { from, to: report.to }, (day) => ({ ...none, day }));
  return (
    <>
      <Outliers of={report} days={days} kind={kind} orgId={orgId} />
      <ByDay of={report} days={days} orgId={orgId} />
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
  );
}

type ByDayProps = { of: Report; days: readonly DayCounts[]; orgId: string | undefined };

/** How entries ended: in total, and by day from the first one on. */
function ByDay({ of: report, days, orgId }: ByDayProps) {
  const timeZone = zoneName(useZone());
  const span = timeSpan(new Date(report.from), new Date(report.to), new Date(), { timeZone });
  const [first] = days;
  const isLater = first !== undefined && first.day > report.from;
  return (
    <Section
      title="By day"
      action={<p className="number">{isLater ? `no entry before ${shownDay(first.day)}` : span}</p>}
    >
      <Totals of={report.counts} time={report} orgId={orgId} />
      <Chart
        label="Entries by day"
        series={[
          { name: "Success", tone: "off" },
          { name: "Failure", tone: "bad" },
          { name: "Denied", tone: "warn" },
        ]}
        isNamed
        points={days.map(({ day, success, failure, denied }) => ({
          at: `${day}T00:00:00.000Z`,
          values: [success, failure, denied],
        }))}
      />
    </Section>
  );
}
