import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { CSSProperties } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useGet } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { to } from "../../parts/links.ts";
import { FailureState, Loading } from "../../parts/states.tsx";
import styles from "./overview.module.css";

/** A count per version: few versions, and rarely. */
const [most, freshMs] = [5, 300_000];

/** How many devices run which version of the agent, the fleet's target marked. */
export function AgentVersions({ orgId }: { orgId: string | undefined }) {
  const query = { component: "agent", limit: String(most), skipCount: "true" };
  const { data, error, refetch } = useGet("/api/v1/agent-versions", { params: { query } }, { freshMs });
  const target = data?.targets.agent;
  const versions = (data?.data ?? []).map(({ version }) => version);
  const counts = useQueries({
    queries: versions.map((agentVersion) => {
      const of = { agentVersion, limit: "1", ...(orgId ? { orgId } : {}) };
      return {
        queryKey: ["/api/v1/devices", { query: of }, "count"],
        queryFn: () => dataOf(api.GET("/api/v1/devices", { params: { query: of } })),
        staleTime: freshMs,
      };
    }),
  });
  const shown = versions.map((version, at) => ({ version, count: counts[at]?.data?.pagination.total ?? 0 }));
  const highest = Math.max(1, ...shown.map(({ count }) => count));
  return (
    <Section
      title="Agent versions"
      action={target ? <p>target {target}</p> : <Link {...to("/releases")}>Releases</Link>}
    >
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {!data && !error ? <Loading what="Loading versions" /> : null}
      {data && shown.length === 0 ? (
        <p className="soft">No release yet: agents keep the version that they have.</p>
      ) : null}
      <ul className={styles.bars}>
        {shown.map(({ version, count }) => (
          <li key={version}>
            <Link {...to("/devices", { orgId, agentVersion: version })} className="number">
              {version}
            </Link>
            <span className={styles.bar} data-tone={version === target ? "run" : "off"} aria-hidden>
              <i style={{ "--share": `${(count / highest) * 100}%` } as CSSProperties} />
            </span>
            <small className="number">{count.toLocaleString()}</small>
          </li>
        ))}
      </ul>
    </Section>
  );
}
