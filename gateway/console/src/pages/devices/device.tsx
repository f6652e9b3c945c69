import { Tabs } from "@base-ui/react/tabs";
import { Link } from "@tanstack/react-router";
import { Terminal } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect } from "react";
import { useDeviceChanges } from "../../api/changes.ts";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { deviceOperations } from "../../operations/devices.tsx";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { LabelList } from "../../parts/label-list.tsx";
import { toRecord } from "../../parts/links.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { Neighbours } from "../../parts/neighbours.tsx";
import { Notice } from "../../parts/notice.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { noteDevice } from "../../parts/recent-devices.ts";
import { RecordState } from "../../parts/record-state.tsx";
import styles from "../../parts/tabs.module.css";
import { Time } from "../../parts/time.tsx";
import { useFilters, useRecordId } from "../../parts/use-filters.ts";
import { systemName } from "../../rules/system-name.ts";
import { DeviceOverview } from "./device-overview.tsx";
import { DeviceUpdates } from "./device-updates.tsx";
import { SiteLink } from "./site-and-group-links.tsx";

const DeviceEvents = lazy(() => import("./device-events.tsx"));
const DeviceHistory = lazy(() => import("./device-history.tsx"));
const DeviceLogs = lazy(() => import("./device-logs.tsx"));

/** One device: how it is, its logs and events, its updates and its history. */
export function DevicePage() {
  const id = useRecordId("/devices/$id");
  const params = { path: { id } };
  const isNotified = useDeviceChanges(undefined);
  // Polled, since heartbeats are no changes, but the page shows when the device was last seen.
  const device = useGet("/api/v1/devices/{id}", { params }, { everyMs: isNotified ? 30_000 : 5_000 });
  const hostname = device.data?.hostname;
  useEffect(() => {
    if (hostname !== undefined) noteDevice({ id, hostname });
  }, [id, hostname]);
  if (!device.data) return <RecordState title="Device" of={device} />;
  const { data } = device;
  return (
    <>
      <PageTitle
        title={data.hostname}
        status={data.status}
        sub={<DeviceLine of={data} />}
        actions={
          <>
            <Neighbours id={id} />
            <Link {...toRecord("/devices/$id/live", { id })} className="button">
              <Terminal size={15} aria-hidden />
              Live event logs
            </Link>
            <HeadOperations of={data} operations={deviceOperations} name={data.hostname} />
          </>
        }
      />
      {data.quarantineReason ? <Quarantine reason={data.quarantineReason} /> : null}
      <DeviceTabs of={data} />
    </>
  );
}

type Device = BodyOf<"/api/v1/devices/{id}">;

const aDevice = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Why it waits for approval; the other device that the reason names is a link. */
function Quarantine({ reason }: { reason: string }) {
  const [id] = aDevice.exec(reason) ?? [];
  return (
    <Notice tone="warn" title="It waits for approval.">
      {id ? reason.slice(0, -id.length) : `${reason}.`}
      {id ? (
        <Link {...toRecord("/devices/$id", { id })}>
          <NameOf id={id} />
        </Link>
      ) : null}
    </Notice>
  );
}

/** Whose it is, what it is, and when it was last seen. */
function DeviceLine({ of: { orgId, siteId, os, arch, lastSeenAt, labels } }: { of: Device }) {
  return (
    <>
      <span>
        <NameOf id={orgId} />
        {siteId ? (
          <>
            , <SiteLink id={siteId} />
          </>
        ) : null}
        {"\u00a0· "}
        {systemName(os)}, {arch}
        {"\u00a0· "}last heartbeat <Time at={lastSeenAt} />
      </span>
      <LabelList of={labels} />
    </>
  );
}

type TabName = "overview" | "logs" | "events" | "updates" | "history";

/** The parts of the page, in its address, so that each can be linked. */
function DeviceTabs({ of }: { of: Device }) {
  const { id, orgId } = of;
  const [{ tab = "overview" }, change] = useFilters();
  const mayReadLogs = useWhyNot("GET /api/v1/devices/{id}/diagnostic-logs") === null;
  const mayReadEvents = useWhyNot("GET /api/v1/devices/{id}/eventlogs") === null;
  const mayReadUpdates = useWhyNot("GET /api/v1/devices/{id}/update-decision") === null;
  const mayReadAudit = useWhyNot("GET /api/v1/audit-logs/logs") === null;
  const all: readonly (readonly [name: TabName, title: string, isShown: boolean, content: () => ReactNode])[] = [
    ["overview", "Overview", true, () => <DeviceOverview of={of} open={(name) => change({ tab: name })} />],
    ["logs", "Logs", mayReadLogs, () => <DeviceLogs id={id} />],
    ["events", "Events", mayReadEvents, () => <DeviceEvents id={id} />],
    ["updates", "Updates", mayReadUpdates, () => <DeviceUpdates id={id} />],
    ["history", "History", mayReadAudit, () => <DeviceHistory id={id} orgId={orgId} />],
  ];
  const shown = all.filter(([, , isShown]) => isShown);
  const [open = "overview"] = shown.find(([name]) => name === tab) ?? [];
  return (
    <Tabs.Root
      value={open}
      onValueChange={(value: TabName) => change({ tab: value === "overview" ? undefined : value })}
    >
      <Tabs.List className={styles.tabs} aria-label="Parts of this page">
        {shown.map(([name, title]) => (
          <Tabs.Tab key={name} value={name}>
            {title}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {shown.map(([name, , , content]) => (
        <Tabs.Panel key={name} value={name}>
          <Suspense>{content()}</Suspense>
        </Tabs.Panel>
      ))}
    </Tabs.Root>
  );
}
