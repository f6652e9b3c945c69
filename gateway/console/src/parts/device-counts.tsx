import { Link } from "@tanstack/react-router";
import { useGet } from "../api/queries.ts";
import { connectedOf } from "../rules/connected.ts";
import styles from "./device-counts.module.css";
import { to } from "./links.ts";
import { useWhyNot } from "./me.tsx";

type DeviceCountsProps = {
  /** An organization, and one of its sites or groups where those are meant alone. */
  of: { orgId: string; siteId?: string; groupId?: string };
};

/** Counts of this age are shown again without another request: a list asks for each row that comes into sight. */
const freshMs = 120_000;

/** How many of its devices are online, as a bar and in the colour of how many are not; leads to them. */
export function DeviceCounts({ of }: DeviceCountsProps) {
  const mayRead = useWhyNot("GET /api/v1/devices/summary") === null;
  const { data } = useGet("/api/v1/devices/summary", { params: { query: of } }, { freshMs, enabled: mayRead });
  if (!data) return null;
  const { online, total, tone } = connectedOf(data.byStatus);
  if (total === 0) return <span className="faint">none</span>;
  return (
    <Link {...to("/devices", of)} className={`number ${tone ?? ""}`}>
      <span className={styles.bar} aria-hidden>
        <span style={{ width: `${(100 * online) / total}%` }} />
      </span>
      {online.toLocaleString()} of {total.toLocaleString()} online
    </Link>
  );
}
