import { Link } from "@tanstack/react-router";
import { useGet } from "../api/queries.ts";
import { type DeviceCounts as Counts, connectedOf } from "../rules/connected.ts";
import styles from "./device-counts.module.css";
import { to } from "./links.ts";
import { useWhyNot } from "./me.tsx";

type Owner = { orgId: string; siteId?: string; groupId?: string };
type DeviceCountsProps = {
  /** An organization, and one of its sites or groups where those are meant alone. */
  of: Owner;
};

/** Counts of this age are shown again without another request: a list asks for each row that comes into sight. */
const freshMs = 120_000;

/** As CountedDevices, of an owner whose list has no counts. */
export function DeviceCounts({ of }: DeviceCountsProps) {
  const mayRead = useWhyNot("GET /api/v1/devices/summary") === null;
  const { data } = useGet("/api/v1/devices/summary", { params: { query: of } }, { freshMs, enabled: mayRead });
  if (!data) return null;
  const count = (wanted: string) => data.byStatus.find(({ status }) => status === wanted)?.count ?? 0;
  const counts = {
    online: count("online"),
    offline: count("offline"),
    updating: count("updating"),
    quarantined: count("quarantined"),
  };
  return <CountedDevices of={of} counts={counts} />;
}

/** How many of its devices are online, as a bar and in the colour of how many are not; leads to them. */
export function CountedDevices({ of, counts }: DeviceCountsProps & { counts: Counts }) {
  const { online, total, tone } = connectedOf(counts);
  if (total === 0) return <span className="faint">none</span>;
  return (
    <Link {...to("/devices", of)} className={`number ${styles.counted} ${tone ?? ""}`}>
      <span className={styles.bar} data-tone={tone} aria-hidden>
        <span style={{ width: `${(100 * online) / total}%` }} />
      </span>
      <span>
        {online.toLocaleString()} of {total.toLocaleString()} online
      </span>
    </Link>
  );
}
