import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api } from "../../api/api.ts";
import { useDeviceChanges } from "../../api/changes.ts";
import { type BodyOf, dataOf, useForget, useGet } from "../../api/queries.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Facts, Json, Section } from "../../parts/facts.tsx";
import { LabelList } from "../../parts/label-list.tsx";
import { Neighbours } from "../../parts/neighbours.tsx";
import { Operation } from "../../parts/operation.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { noteDevice } from "../../parts/recent-devices.ts";
import { RecordState } from "../../parts/record-state.tsx";
import { Said } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { searchFor, useRecordId } from "../../parts/use-filters.ts";
import { ChangeDevice } from "./change-device.tsx";
import { DeviceEvents } from "./device-events.tsx";
import { DeviceLogs } from "./device-logs.tsx";
import { DeviceUpdates } from "./device-updates.tsx";
import { GroupLinks, SiteLink } from "./site-and-group-links.tsx";

type Device = BodyOf<"/api/v1/devices/{id}">;

type Asking = "change" | "approve" | "replace" | "decommission" | null;

/** One device: its properties, its logs, and the actions on it. */
export function DevicePage() {
  const id = useRecordId();
  const params = { path: { id } };
  const isNotified = useDeviceChanges(undefined);
  // Polled, since heartbeats are no changes, but the page shows when the device was last seen.
  const device = useGet("/api/v1/devices/{id}", { params }, { everyMs: isNotified ? 30_000 : 5_000 });
  const [asking, ask] = useState<Asking>(null);
  const [said, say] = useState<string | null>(null);
  const forget = useForget();
  const hostname = device.data?.hostname;
  useEffect(() => {
    if (hostname !== undefined) noteDevice({ id, hostname });
  }, [id, hostname]);
  if (!device.data) return <RecordState title="Device" of={device} />;
  const { data } = device;
  const close = () => ask(null);
  const changed = async (sentence: string) => {
    say(sentence);
    await forget("/api/v1/devices");
  };
  return (
    <>
      <PageTitle title={data.hostname} status={data.status} />
      <Neighbours id={id} />
      <Said>{said}</Said>
      {data.quarantineReason ? <p role="note">Quarantined: {data.quarantineReason}</p> : null}
      <DeviceFacts data={data} ask={ask} id={id} params={params} say={say} changed={changed} />
      {data.reported ? (
        <Section title="As its agent reports">
          <Json value={data.reported} label="Report of the agent" />
        </Section>
      ) : null}
      <DeviceUpdates id={id} />
      <DeviceLogs id={id} />
      <DeviceEvents id={id} />
      <DeviceQuestions data={data} asking={asking} close={close} params={params} changed={changed} />
    </>
  );
}

function DeviceFacts({
  data,
  ask,
  id,
  params,
  say,
  changed,
}: {
  data: Device;
  ask(what: Asking): void;
  id: string;
  params: { path: { id: string } };
  say(sentence: string): void;
  changed(sentence: string): Promise<void>;
}) {
  return (
    <Section title="Facts" action={<DeviceActions data={data} ask={ask} params={params} say={say} changed={changed} />}>
      <Facts
        of={[
          ["System", `${data.os} ${data.arch}`],
          ["Agent", data.agentVersion],
          ["Watchdog", data.watchdogVersion],
          ["Helper", data.helperVersion],
          ["Site", data.siteId ? <SiteLink key="site" id={data.siteId} /> : null],
          ["Groups", data.groupIds.length > 0 ? <GroupLinks key="groups" of={data} /> : null],
          ["Last seen", <Time key="seen" at={data.lastSeenAt} />],
          ["Last address", data.lastIpAddress],
          ["Agent updates", data.autoUpdateEnabled ? "on" : "off"],
          ["Serial number", data.serialNumber],
          ["Hardware id", data.hardwareId],
          ["Enrolled", <Time key="made" at={data.createdAt} />],
          ["Id", <code key="id">{data.id}</code>],
        ]}
      />
      <LabelList of={data.labels} />
      <p>
        <Link to="/audit" search={searchFor({ orgId: data.orgId, resourceId: id })}>
          Its audit rows
        </Link>{" "}
        ·{" "}
        <Link to="/devices/$id/live" params={{ id }}>
          Live event logs
        </Link>
      </p>
    </Section>
  );
}

function DeviceActions({
  data,
  ask,
  params,
  say,
  changed,
}: {
  data: Device;
  ask(what: Asking): void;
  params: { path: { id: string } };
  say(sentence: string): void;
  changed(sentence: string): Promise<void>;
}) {
  return (
    <div>
      {data.status === "quarantined" ? (
        <>
          <Operation name="POST /api/v1/devices/{id}/approve" onClick={() => ask("approve")}>
            Approve …
          </Operation>{" "}
          <Operation name="DELETE /api/v1/devices/{id}" onClick={() => ask("replace")}>
            Approve and replace …
          </Operation>
        </>
      ) : null}{" "}
      {data.status === "decommissioned" ? null : (
        <>
          <Operation name="PATCH /api/v1/devices/{id}" onClick={() => ask("change")}>
            Change …
          </Operation>{" "}
          <Operation
            name="POST /api/v1/devices/{id}/auto-update"
            onClick={() =>
              void dataOf(
                api.POST("/api/v1/devices/{id}/auto-update", {
                  params,
                  body: { enabled: !data.autoUpdateEnabled },
                }),
              ).then(
                ({ autoUpdateEnabled }) => changed(`Agent updates are ${autoUpdateEnabled ? "on" : "off"}.`),
                (error: Error) => say(`Not changed: ${error.message}`),
              )
            }
          >
            Turn agent updates {data.autoUpdateEnabled ? "off" : "on"}
          </Operation>{" "}
          <Operation name="DELETE /api/v1/devices/{id}" onClick={() => ask("decommission")}>
            Decommission …
          </Operation>
        </>
      )}
    </div>
  );
}

function DeviceQuestions({
  data,
  asking,
  close,
  params,
  changed,
}: {
  data: Device;
  asking: Asking;
  close(): void;
  params: { path: { id: string } };
  changed(sentence: string): Promise<void>;
}) {
  return (
    <>
      {asking === "change" ? <ChangeDevice of={data} onClose={close} onDone={changed} /> : null}
      {asking === "approve" || asking === "replace" ? (
        <Confirm
          title={asking === "replace" ? "Replace the other device?" : "Trust this device?"}
          verb={asking === "replace" ? "Replace" : "Approve"}
          onClose={close}
          action={async () => {
            const body = { replace: asking === "replace" };
            await dataOf(api.POST("/api/v1/devices/{id}/approve", { params, body }));
            await changed("The device is trusted.");
          }}
        >
          <p>
            {asking === "replace"
              ? "The device with the same hardware id is decommissioned; its agent is refused from then on."
              : "Its agent is accepted from now on. The device with the same hardware id stays, too."}
          </p>
        </Confirm>
      ) : null}
      {asking === "decommission" ? (
        <Confirm
          title={`Decommission ${data.hostname}?`}
          verb="Decommission"
          typed={data.hostname}
          onClose={close}
          action={async () => {
            await dataOf(api.DELETE("/api/v1/devices/{id}", { params }));
            await changed("The device is decommissioned.");
          }}
        >
          <p>
            Its agent's token is refused at once and permanently; its record, logs and audit rows stay. It no longer
            counts against any limit.
          </p>
        </Confirm>
      ) : null}
    </>
  );
}
