import { type BodyOf, useList } from "../../api/queries.ts";
import { Facts, Section } from "../../parts/facts.tsx";
import { LongCode } from "../../parts/long-text.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { Instant, Time } from "../../parts/time.tsx";
import { systemName } from "../../rules/system-name.ts";
import styles from "./device.module.css";
import { DeviceTimeline } from "./device-history.tsx";
import { DeviceMetrics } from "./device-metrics.tsx";
import { DeviceUpdates } from "./device-updates.tsx";
import { GroupLinks, SiteLink } from "./site-and-group-links.tsx";

type Device = BodyOf<"/api/v1/devices/{id}">;

/** How the device is now, what happens to it, and what is known of it. */
export function DeviceOverview({ of, open }: { of: Device; open(tab: "logs" | "history"): void }) {
  const mayReadLogs = useWhyNot("GET /api/v1/devices/{id}/diagnostic-logs") === null;
  return (
    <div className={styles.sides}>
      <div>
        <DeviceUpdates id={of.id} isShort />
        <DeviceMetrics of={of} />
        <DeviceTimeline of={of} onMore={() => open("history")} />
      </div>
      <div>
        <DeviceFacts of={of} />
        {mayReadLogs ? <LastErrors id={of.id} onMore={() => open("logs")} /> : null}
      </div>
    </div>
  );
}

/** A fact that not every agent reports: nothing without it. */
const reportedFact = (name: string, value: string | null) => (value === null ? [] : ([[name, value]] as const));

function DeviceFacts({ of }: { of: Device }) {
  const addresses = of.reported?.ipAddresses ?? [];
  return (
    <Section title="Facts">
      <Facts
        of={[
          ["Organization", <NameOf key="organization" id={of.orgId} />],
          ["Site", of.siteId ? <SiteLink key="site" id={of.siteId} /> : null],
          ["Groups", of.groupIds.length > 0 ? <GroupLinks key="groups" of={of} /> : null],
          ["System", `${systemName(of.os)}, ${of.arch}`],
          ["Agent", of.agentVersion],
          ...reportedFact("Watchdog", of.watchdogVersion),
          ...reportedFact("Helper", of.helperVersion),
          ["Agent updates", of.autoUpdateEnabled ? "on" : "held"],
          ["Last seen", <Time key="seen" at={of.lastSeenAt} />],
          ["Last address", of.lastIpAddress],
          ...(addresses.length > 0 ? ([["Own addresses", addresses.join(", ")]] as const) : []),
          ...reportedFact("Serial number", of.serialNumber),
          ["Hardware id", of.hardwareId ? <LongCode key="hardware" of={of.hardwareId} what="hardware id" /> : null],
          ["Enrolled", <Time key="made" at={of.createdAt} />],
          ["Id", <LongCode key="id" of={of.id} what="id" />],
        ]}
      />
    </Section>
  );
}

/** The newest messages of the agent that are errors. */
function LastErrors({ id, onMore }: { id: string; onMore(): void }) {
  const { rows } = useList("/api/v1/devices/{id}/diagnostic-logs", {
    params: { path: { id }, query: { level: "error" } },
  });
  return (
    <Section
      title="Last errors"
      action={
        <button type="button" data-weight="link" onClick={onMore}>
          Logs
        </button>
      }
    >
      {rows.length === 0 ? <p className="soft">Its agent reported no error.</p> : null}
      <ul className={styles.errors}>
        {rows.slice(0, 5).map((row) => (
          <li key={row.id}>
            <Instant at={row.timestamp} /> {row.component}: {row.message}
          </li>
        ))}
      </ul>
    </Section>
  );
}
