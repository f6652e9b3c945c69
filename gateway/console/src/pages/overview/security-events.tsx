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

/** Sign-ins and changes of rights by day, accepted and refused. */
export function SecurityEvents({ orgId }: { orgId: string | undefined }) {
  const [filters] = useFilters();
  const [from] = useState(() => new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10));
  const query = { from, ...(orgId ? { orgId } : {}) };
  const { data, error, refetch } = useGet(
    "/api/v1/audit-logs/reports/security-events",
    { params: { query } },
    { freshMs },
  );
  const refused = data ? data.counts.failure + data.counts.denied : 0;
  const byDay = data ? everyDay(data.byDay, data, (day) => ({ day, total: 0, success: 0, failure: 0, denied: 0 })) : [];
  return (
    <Section
      title="Sign-ins and rights"
      action={<Link {...to("/audit/reports", { orgId: filters.orgId })}>Last {days} days</Link>}
    >
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {!data && !error ? <Loading what="Loading security events" /> : null}
      {data ? (
        <>
          <p className={styles.figures}>
            <span>
              <b className="number">{data.counts.success.toLocaleString()}</b> accepted
            </span>
            <span data-tone={refused > 0 ? "bad" : "off"}>
              <b className="number">{refused.toLocaleString()}</b> refused
            </span>
          </p>
          <Chart
            label="Security events by day"
            series={[
              { name: "Accepted", tone: "off" },
              { name: "Refused", tone: "bad" },
            ]}
            points={byDay.map(({ day, success, failure, denied }) => ({
              at: `${day}T00:00:00.000Z`,
              values: [success, failure + denied],
            }))}
          />
        </>
      ) : null}
    </Section>
  );
}
