import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { CSSProperties, ReactNode } from "react";
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
    queries: [...versions.map((agentVersion) => ({ agentVersion })), {}].map((which) => {
      const of = { ...which, limit: "1", ...(orgId ? { orgId } : {}) };
      return {
        queryKey: ["/api/v1/devices", { query: of }, "count"],
        queryFn: () => dataOf(api.GET("/api/v1/devices", { params: { query: of } })),
        staleTime: freshMs,
      };
    }),
  });
  const withdrawn = new Set(data?.data.filter(({ yankedAt }) => yankedAt !== null).map(({ version }) => version));
  const shown = versions
    .map((version, at) => ({ version, count: counts[at]?.data?.pagination.total ?? 0 }))
    .filter(({ version, count }) => count > 0 || !withdrawn.has(version));
  const isCounted = counts.every((count) => count.data !== undefined);
  const all = isCounted ? (counts[versions.length]?.data?.pagination.total ?? 0) : 0;
  const others = Math.max(0, all - shown.reduce((sum, { count }) => sum + count, 0));
  const highest = Math.max(1, others, ...shown.map(({ count }) => count));
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
          <Bar key={version} share={count / highest} tone={version === target ? "run" : "off"} count={count}>
            <Link {...to("/devices", { orgId, agentVersion: version })} className="number">
              {version}
            </Link>
          </Bar>
        ))}
        {data && others > 0 ? (
          <Bar share={others / highest} tone="off" count={others}>
            <span className="soft">Others</span>
          </Bar>
        ) : null}
      </ul>
    </Section>
  );
}

function Bar(of: { share: number; tone: "run" | "off"; count: number; children: ReactNode }) {
  return (
    <li>
      {of.children}
      <span className={styles.bar} data-tone={of.tone} aria-hidden>
        <i style={{ "--share": `${of.share * 100}%` } as CSSProperties} />
      </span>
      <small className="number">{of.count.toLocaleString()}</small>
    </li>
  );
}
