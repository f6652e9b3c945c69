import { Link } from "@tanstack/react-router";
import type { CSSProperties } from "react";
import type { BodyOf } from "../api/queries.ts";
import { connectedOf } from "../rules/connected.ts";
import { Section } from "./facts.tsx";
import styles from "./fleet.module.css";
import { FleetHistory } from "./fleet-history.tsx";
import { to } from "./links.ts";

const shown = [
  ["online", "Online", "good", "connected now"],
  ["offline", "Offline", "off", "not connected now"],
  ["updating", "Updating", "run", "install a version"],
  ["quarantined", "To approve", "warn", "wait for a decision"],
] as const;

/**
 * How many devices are in which state, each a link to them, in the colour that the state has in every list; offline in
 * that of an outage, where it is one.
 */
export function Fleet({
  orgId,
  siteId,
  title = "Fleet",
  summary,
  hasHistory,
}: {
  orgId: string | undefined;
  siteId?: string;
  title?: string;
  summary: BodyOf<"/api/v1/devices/summary"> | undefined;
  /** Whether the user may see whole organizations, which alone are counted over time. */
  hasHistory: boolean;
}) {
  const of = (status: string) => summary?.byStatus.find((each) => each.status === status);
  const all = shown.reduce((sum, [status]) => sum + (of(status)?.count ?? 0), 0);
  const count = (status: string) => of(status)?.count ?? 0;
  const outage = connectedOf({ online: count("online"), offline: count("offline"), updating: count("updating") }).tone;
  const toneOf = ([status, , tone]: (typeof shown)[number]) => (status === "offline" && outage ? outage : tone);
  const share = (count: number) => `${((count / all) * 100).toLocaleString("en", { maximumFractionDigits: 1 })} %`;
  return (
    <Section title={title} action={<Link {...to("/devices", { orgId, siteId })}>All devices</Link>}>
      <ul className={styles.counts}>
        {shown.map((each) => {
          const [status, name, , what] = each;
          const { count = 0, isEstimate = false } = of(status) ?? {};
          return (
            <li key={status} data-tone={toneOf(each)}>
              <Link {...to("/devices", { status, orgId, siteId })}>
                <span>{name}</span>
                <b className={`number ${status === "offline" && outage ? outage : ""}`}>
                  {summary ? `${isEstimate ? "about " : ""}${count.toLocaleString()}` : "…"}
                </b>
                <small>{status === "online" && all > 0 ? share(count) : what}</small>
              </Link>
            </li>
          );
        })}
      </ul>
      {all > 0 ? (
        <div className={styles.share} aria-hidden>
          {shown
            .filter(([status]) => count(status) > 0)
            .map((each) => (
              <i key={each[0]} data-tone={toneOf(each)} style={{ "--share": count(each[0]) } as CSSProperties} />
            ))}
        </div>
      ) : null}
      {hasHistory ? <FleetHistory orgId={orgId} summary={summary} /> : null}
    </Section>
  );
}
