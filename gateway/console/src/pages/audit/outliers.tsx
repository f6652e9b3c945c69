import { Link } from "@tanstack/react-router";
import { CircleAlert, TrendingUp, TriangleAlert } from "lucide-react";
import { Fragment } from "react";
import { useGet } from "../../api/queries.ts";
import { to } from "../../parts/links.ts";
import { NeedRow, NeedStep, NeedsList } from "../../parts/notice.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { actionTitle } from "../../rules/action-words.ts";
import { allRows } from "../../rules/machine-actions.ts";
import { mostCommon } from "../../rules/most-common.ts";
import { type OutlierPart, outlier, outlierParts } from "../../rules/outlier.ts";
import { actorName, type DayCounts, type Report, type ReportKind, shownDay } from "./report.ts";

const freshMs = 300_000;

/** What of a day's entries may stand out, how that looks, its word, and the filter that finds it. */
const outcomes = {
  total: { tone: "run", icon: TrendingUp, word: "entries", filter: {} },
  failure: { tone: "bad", icon: CircleAlert, word: "failed", filter: { result: "failure" } },
  denied: { tone: "warn", icon: TriangleAlert, word: "denied", filter: { result: "denied" } },
} as const;
type Outcome = keyof typeof outcomes;

type OutliersProps = { of: Report; days: readonly DayCounts[]; kind: ReportKind; orgId: string | undefined };

/** Which days stand far above the others, and what or who made most of it; nothing where none does. */
export function Outliers({ days, kind, ...props }: OutliersProps) {
  const found = (["failure", "denied", "total"] as const).flatMap((outcome) => {
    const top = outlier(days.map((day) => day[outcome]));
    const day = top && days[top.at];
    return top && day ? [{ outcome, day, times: top.times }] : [];
  });
  if (found.length === 0) return null;
  return (
    <NeedsList label="Days that stand out">
      {found.map((each) => (
        <Outlier
          key={each.outcome}
          {...props}
          {...each}
          otherDays={days.length - 1}
          // Who failed says more than at what.
          kind={each.outcome !== "total" && kind === "categories" ? "user-activity" : kind}
          isOfAll={isOfAll(kind)}
        />
      ))}
    </NeedsList>
  );
}

type OutlierProps = Omit<OutliersProps, "days"> & {
  outcome: Outcome;
  day: DayCounts;
  times: number;
  otherDays: number;
  isOfAll: boolean;
};

/** A day that stands out by an outcome, as sentences. */
function Outlier({ outcome, day, times, otherDays, of: report, kind, isOfAll, orgId }: OutlierProps) {
  const { tone, icon, word, filter } = outcomes[outcome];
  const [{ to: until }] = useFilters();
  const time = timeOf(day.day, { from: report.from, until });
  const query = { ...time, ...(orgId ? { orgId } : {}) };
  const read = useGet(`/api/v1/audit-logs/reports/${kind}`, { params: { query } }, { freshMs });
  const parts = read.data ? partsOf(read.data as Report, report, outcome, otherDays) : [];
  const found = { ...allRows, ...time, ...filter, orgId };
  return (
    <NeedRow tone={tone} icon={icon}>
      <p>
        <b>
          {shownDay(day.day)}: {day[outcome].toLocaleString()} {word}.
        </b>{" "}
        <span className="soft">
          That is {times} times a usual day. {parts.length > 0 ? "Most of them: " : null}
          {parts.map((part, at) => (
            <Fragment key={part.key}>
              {at > 0 ? ", " : null}
              <Link {...to("/audit", { ...found, ...part.filter })}>{part.name}</Link> {part.count.toLocaleString()}
              {part.count === 1 ? " time" : " times"}
              {elsewhere(part)}
              {outcome === "total" ? null : (
                <From of={{ ...time, ...filter, ...part.filter, ...(orgId ? { orgId } : {}) }} />
              )}
            </Fragment>
          ))}
          {parts.length > 0 ? "." : null}
          {read.error ? "What made most of it could not be read." : null}
        </span>
      </p>
      {isOfAll ? (
        <NeedStep link={to("/audit", found)} title={`${word} of ${shownDay(day.day)}`}>
          See them
        </NeedStep>
      ) : null}
    </NeedRow>
  );
}

/** Whether a report counts all entries, as the audit trail lists them. */
const isOfAll = (kind: ReportKind) => kind === "categories" || kind === "user-activity";

type FromProps = { of: { from: string; to: string; orgId?: string; actorId?: string; actions?: string } };

/** From which address most of what failed came, as the end of a sentence; nothing where there are many. */
function From({ of: filter }: FromProps) {
  const query = { ...filter, limit: "100", skipCount: "true" };
  const { data } = useGet("/api/v1/audit-logs/logs", { params: { query } }, { freshMs });
  const rows = data?.data ?? [];
  const top = mostCommon(rows.map(({ ipAddress }) => ipAddress));
  if (top === null || top.count * 2 <= rows.length) return null;
  return (
    <>
      , {top.count === rows.length ? "all" : "most"} from{" "}
      <Link {...to("/audit", { ...allRows, ...filter, ipAddress: top.value })}>{top.value}</Link>
    </>
  );
}

const elsewhere = ({ elsewhere: count }: OutlierPart) =>
  count === null ? null : ` (${count === 0 ? "none" : count.toLocaleString()} on other days)`;

/** A day (UTC) as far as it is in a time: one that goes on until now has no other end, so that it is read once. */
function timeOf(day: string, { from, until }: { from: string; until: string | undefined }) {
  const [first, last] = [`${day}T00:00:00.000Z`, `${day}T23:59:59.999Z`];
  const [to = last] = [last, until ?? last].sort();
  return { from: [first, from].sort()[1] ?? first, to };
}

type NamedPart = OutlierPart & { name: string; filter: { actions: string } | { actorId: string } };

/** What, or who, made most of a day's outcome: from the report of the day, and that of the whole time. */
function partsOf(day: Report, whole: Report, outcome: Outcome, otherDays: number): readonly NamedPart[] {
  if (day.byAction) {
    const rows = day.byAction.map((row) => ({ key: row.action, count: row[outcome] }));
    const sums = new Map(whole.byAction?.map((row) => [row.action, row[outcome]]));
    const parts = outlierParts(rows, sums, otherDays);
    return parts.map((part) => ({ ...part, name: actionTitle(part.key), filter: { actions: part.key } }));
  }
  const actorsOf = ({ users, topActors }: Report) => users ?? topActors ?? [];
  const names = new Map(actorsOf(day).map((row) => [row.id, actorName(row)]));
  const rows = actorsOf(day).map((row) => ({ key: row.id, count: row[outcome] }));
  const sums = new Map(actorsOf(whole).map((row) => [row.id, row[outcome]]));
  const parts = outlierParts(rows, sums, otherDays);
  return parts.map((part) => ({ ...part, name: names.get(part.key) ?? part.key, filter: { actorId: part.key } }));
}
