import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useGet } from "../../api/queries.ts";
import { Chart } from "../../parts/chart.tsx";
import { Section } from "../../parts/facts.tsx";
import { to } from "../../parts/links.ts";
import { FailureState, Loading } from "../../parts/states.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { everyDay } from "../../rules/days.ts";
import styles from "./overview.module.css";

const [days, freshMs] = [14, 600_000];

/** Sign-ins by day, accepted and refused. */
export function SignIns({ orgId }: { orgId: string | undefined }) {
  const [filters] = useFilters();
  const [from] = useState(() => new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10));
  const query = { from, step: "1d", ...(orgId ? { orgId } : {}) };
  const { data, error, refetch } = useGet("/api/v1/audit-logs/reports/sign-ins", { params: { query } }, { freshMs });
  const counts = data?.data.map(({ at, accepted, refused }) => ({ day: at.slice(0, 10), accepted, refused })) ?? [];
  const sum = (name: "accepted" | "refused") => counts.reduce((all, each) => all + each[name], 0);
  const refused = sum("refused");
  return (
    <Section title="Sign-ins" action={<p>last {days} days</p>}>
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {!data && !error ? <Loading what="Loading sign-ins" /> : null}
      {data ? (
        <>
          <p className={styles.figures}>
            <Link {...to("/audit", { orgId: filters.orgId, action: "user.login", result: "success", from })}>
              <b className="number">{sum("accepted").toLocaleString()}</b> accepted
            </Link>
            <Link
              {...to("/audit", { orgId: filters.orgId, action: "user.login", result: "failure", from })}
              data-tone={refused > 0 ? "bad" : "off"}
            >
              <b className="number">{refused.toLocaleString()}</b> refused
            </Link>
          </p>
          <Chart
            label="Sign-ins by day"
            series={[
              { name: "Accepted", tone: "off" },
              { name: "Refused", tone: "bad" },
            ]}
            points={everyDay(counts, data, (day) => ({ day, accepted: 0, refused: 0 })).map((each) => ({
              at: `${each.day}T00:00:00.000Z`,
              values: [each.accepted, each.refused],
            }))}
          />
        </>
      ) : null}
    </Section>
  );
}
