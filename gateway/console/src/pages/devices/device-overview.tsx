import { CircleAlert } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { type BodyOf, useList } from "../../api/queries.ts";
import { Facts, Section } from "../../parts/facts.tsx";
import { LongCode } from "../../parts/long-text.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { Sides } from "../../parts/sides.tsx";
import { Loading } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import styles from "./device.module.css";
import { DeviceAttention } from "./device-attention.tsx";
import { DeviceTimeline } from "./device-timeline.tsx";
import { DeviceUpdates } from "./device-updates.tsx";
import { GroupLinks } from "./site-and-group-links.tsx";

const DeviceMetrics = lazy(() => import("./device-metrics.tsx"));

type Device = BodyOf<"/api/v1/devices/{id}">;

/** What needs a look and how busy the machine is, then what happened to it beside its updates and what is known. */
export function DeviceOverview({ of, open }: { of: Device; open(tab: "logs" | "updates" | "history"): void }) {
  const mayReadLogs = useWhyNot("GET /api/v1/devices/{id}/diagnostic-logs") === null;
  return (
    <div className={styles.overview}>
      <DeviceAttention of={of} onUpdates={() => open("updates")} />
      {mayReadLogs ? <LastErrors id={of.id} onMore={() => open("logs")} /> : null}
      <Suspense fallback={<Loading what="Loading its load" />}>
        <DeviceMetrics of={of} />
      </Suspense>
      <Sides
        first={<DeviceUpdates id={of.id} isShort />}
        main={<DeviceTimeline of={of} onMore={() => open("history")} />}
        side={<DeviceFacts of={of} />}
      />
    </div>
  );
}

type Fact = readonly [name: string, value: ReactNode];
/** A fact that not every device has: nothing without it. */
const optionalFact = (name: string, value: ReactNode): readonly Fact[] => (value ? [[name, value]] : []);

/** What is known of the device and stands nowhere above; its versions, where the user may not read its updates. */
function DeviceFacts({ of }: { of: Device }) {
  const hasUpdates = useWhyNot("GET /api/v1/devices/{id}/update-decision") === null;
  const versions: readonly Fact[] = [
    ["Agent", of.agentVersion],
    ...optionalFact("Watchdog", of.watchdogVersion),
    ...optionalFact("Helper", of.helperVersion),
  ];
  return (
    <Section title="Facts">
      <Facts
        of={[
          ["Groups", of.groupIds.length > 0 ? <GroupLinks key="groups" of={of} /> : null],
          ...(hasUpdates ? [] : versions),
          ["Updates", of.autoUpdateEnabled ? "on" : "held"],
          ["Enrolled", <Time key="made" at={of.createdAt} />],
          ["Last address", of.lastIpAddress],
          ...optionalFact("Own addresses", (of.reported?.ipAddresses ?? []).join(", ")),
          ...optionalFact("Serial number", of.serialNumber),
          ...optionalFact("Hardware id", of.hardwareId ? <LongCode of={of.hardwareId} what="hardware id" /> : null),
          ["Id", <LongCode key="id" of={of.id} what="id" />],
        ]}
      />
    </Section>
  );
}

const [mostErrors, recentMs] = [3, 7 * 86_400_000];

/** The newest messages of the agent that are errors; nothing where the last week had none. */
function LastErrors({ id, onMore }: { id: string; onMore(): void }) {
  const { rows } = useList("/api/v1/devices/{id}/diagnostic-logs", {
    params: { path: { id }, query: { level: "error" } },
  });
  const [openedMs] = useState(Date.now);
  const recent = rows.filter(({ timestamp }) => Date.parse(timestamp) > openedMs - recentMs);
  if (recent.length === 0) return null;
  return (
    <Section
      title="Last errors"
      action={
        <button type="button" data-weight="link" onClick={onMore}>
          {recent.length > mostErrors ? "All of them" : "Logs"}
        </button>
      }
    >
      <ul className={styles.errors}>
        {recent.slice(0, mostErrors).map((row) => (
          <li key={row.id}>
            <CircleAlert size={15} aria-hidden />
            <b>{row.component}</b>
            <span>{row.message}</span>
            <Time at={row.timestamp} />
          </li>
        ))}
      </ul>
    </Section>
  );
}
