import { lazy, type ReactNode, Suspense } from "react";
import { type BodyOf, useList } from "../../api/queries.ts";
import { Facts, Section } from "../../parts/facts.tsx";
import { LongCode } from "../../parts/long-text.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { Sides } from "../../parts/sides.tsx";
import { Loading } from "../../parts/states.tsx";
import { Instant, Time } from "../../parts/time.tsx";
import { systemName } from "../../rules/system-name.ts";
import styles from "./device.module.css";
import { DeviceAttention } from "./device-attention.tsx";
import { DeviceTimeline } from "./device-timeline.tsx";
import { DeviceUpdates } from "./device-updates.tsx";
import { GroupLinks, SiteLink } from "./site-and-group-links.tsx";

const DeviceMetrics = lazy(() => import("./device-metrics.tsx"));

type Device = BodyOf<"/api/v1/devices/{id}">;

/** What needs a look and how busy the machine is, then its updates beside what happened to it, then what is known. */
export function DeviceOverview({ of, open }: { of: Device; open(tab: "logs" | "updates" | "history"): void }) {
  const mayReadLogs = useWhyNot("GET /api/v1/devices/{id}/diagnostic-logs") === null;
  return (
    <div className={styles.overview}>
      <DeviceAttention of={of} onUpdates={() => open("updates")} />
      <Suspense fallback={<Loading what="Loading its load" />}>
        <DeviceMetrics of={of} />
      </Suspense>
      <Sides
        main={<DeviceUpdates id={of.id} isShort />}
        side={<DeviceTimeline of={of} onMore={() => open("history")} />}
      />
      <DeviceFacts of={of} />
      {mayReadLogs ? <LastErrors id={of.id} onMore={() => open("logs")} /> : null}
    </div>
  );
}

type Fact = readonly [name: string, value: ReactNode];
/** A fact that not every device has: nothing without it. */
const optionalFact = (name: string, value: ReactNode): readonly Fact[] => (value ? [[name, value]] : []);

/** What is known of the device, in the order of the questions: where it is, what it is, what runs there. */
function DeviceFacts({ of }: { of: Device }) {
  const addresses = of.reported?.ipAddresses ?? [];
  const groups: readonly (readonly [title: string, facts: readonly Fact[]])[] = [
    [
      "Place",
      [
        ["Organization", <NameOf key="organization" id={of.orgId} />],
        ["Site", of.siteId ? <SiteLink key="site" id={of.siteId} /> : null],
        ["Groups", of.groupIds.length > 0 ? <GroupLinks key="groups" of={of} /> : null],
      ],
    ],
    [
      "Machine",
      [
        ["System", `${systemName(of.os)}, ${of.arch}`],
        ["Last address", of.lastIpAddress],
        ...optionalFact("Own addresses", addresses.join(", ")),
        ...optionalFact("Serial number", of.serialNumber),
        ...optionalFact("Hardware id", of.hardwareId ? <LongCode of={of.hardwareId} what="hardware id" /> : null),
      ],
    ],
    [
      "Agent",
      [
        ["Version", of.agentVersion],
        ...optionalFact("Watchdog", of.watchdogVersion),
        ...optionalFact("Helper", of.helperVersion),
        ["Updates", of.autoUpdateEnabled ? "on" : "held"],
        ["Last seen", <Time key="seen" at={of.lastSeenAt} />],
        ["Enrolled", <Time key="made" at={of.createdAt} />],
        ["Id", <LongCode key="id" of={of.id} what="id" />],
      ],
    ],
  ];
  return (
    <Section title="Facts">
      <div className={styles.groups}>
        {groups.map(([title, facts]) => (
          <div key={title} className={styles.group}>
            <h3>{title}</h3>
            <Facts of={facts} />
          </div>
        ))}
      </div>
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
