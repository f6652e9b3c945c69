import type { ItemOf } from "@muster/client";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { type EachResult, forAll, forEach } from "../../api/each.ts";
import { dataOf, useForget, useGet } from "../../api/queries.ts";
import { BulkAction } from "../../parts/bulk-action.tsx";
import { Field } from "../../parts/field.tsx";
import { Operation } from "../../parts/operation.tsx";
import { NamedOptions } from "../../parts/options.tsx";
import { ReviewDevices } from "./review-devices.tsx";

type Device = ItemOf<"/api/v1/devices">;
type Change = { siteId?: string | null; autoUpdateEnabled?: boolean };
type Asking = "move" | "group" | "updatesOn" | "updatesOff" | "decommission" | null;

/** What can be done with several devices at once. */
export function BulkDevices({ devices, onDone }: { devices: readonly Device[]; onDone(): void }) {
  const [asking, ask] = useState<Asking>(null);
  const [chosenId, choose] = useState("");
  const forget = useForget();
  const [orgId = "", ...others] = [...new Set(devices.map((device) => device.orgId))];
  const isOneOrganization = others.length === 0;
  const query = { orgId, limit: "100" };
  const isPlacing = (asking === "move" || asking === "group") && isOneOrganization;
  const sites = useGet("/api/v1/orgs/sites", { params: { query } }, { enabled: isPlacing });
  const groups = useGet("/api/v1/device-groups", { params: { query } }, { enabled: isPlacing });
  const open = (what: Asking) => {
    choose("");
    ask(what);
  };
  const shared = {
    items: devices.map(({ id, hostname }) => ({ id, name: hostname })),
    onClose: () => ask(null),
    onDone: () => {
      ask(null);
      onDone();
      void forget("/api/v1/devices", "/api/v1/device-groups");
    },
  };
  const count = `${devices.length.toLocaleString()} ${devices.length === 1 ? "device" : "devices"}`;
  const chooser = (label: string, records: readonly Named[] | undefined, none?: string) => (
    <Chooser {...{ isOneOrganization, label, records, none, chosenId, choose }} />
  );
  return (
    <>
      <ReviewDevices devices={devices} onClose={shared.onClose} onDone={shared.onDone} />
      <Operation name="POST /api/v1/devices/bulk-update" onClick={() => open("move")}>
        Move to site …
      </Operation>
      <Operation name="POST /api/v1/device-groups/{id}/devices" onClick={() => open("group")}>
        Add to group …
      </Operation>
      <Operation name="POST /api/v1/devices/bulk-update" onClick={() => open("updatesOn")}>
        Updates on …
      </Operation>
      <Operation name="POST /api/v1/devices/bulk-update" onClick={() => open("updatesOff")}>
        Updates off …
      </Operation>
      <Operation name="POST /api/v1/devices/bulk-decommission" onClick={() => open("decommission")}>
        Decommission …
      </Operation>
      {asking === "move" ? (
        <BulkAction
          {...shared}
          title={`Move ${count}`}
          verb="Move"
          isDisabled={!isOneOrganization}
          work={changing({ siteId: chosenId || null })}
        >
          {chooser("To the site", sites.data?.data, "none: out of their sites")}
        </BulkAction>
      ) : null}
      {asking === "group" ? (
        <BulkAction
          {...shared}
          title={`Add ${count} to a group`}
          verb="Add"
          isDisabled={chosenId === ""}
          work={(ids, onProgress) => forEach(ids, joining(chosenId), onProgress)}
        >
          {chooser("Group", groups.data?.data)}
        </BulkAction>
      ) : null}
      {asking === "updatesOn" || asking === "updatesOff" ? (
        <BulkAction
          {...shared}
          title={`Turn agent updates ${asking === "updatesOn" ? "on" : "off"}`}
          verb={asking === "updatesOn" ? "Turn on" : "Turn off"}
          work={changing({ autoUpdateEnabled: asking === "updatesOn" })}
        >
          <p>
            {asking === "updatesOn"
              ? `The agents of ${count} are offered new versions again.`
              : `The agents of ${count} keep the version that they have.`}
          </p>
        </BulkAction>
      ) : null}
      {asking === "decommission" ? (
        <BulkAction
          {...shared}
          title={`Decommission ${count}?`}
          verb="Decommission"
          typed={count}
          work={(ids, onProgress) => forAll(ids, decommission, onProgress)}
        >
          <p>
            The tokens of their agents are refused at once and permanently; records, logs and audit rows stay. They no
            longer count against any limit.
          </p>
        </BulkAction>
      ) : null}
    </>
  );
}

/** Sends a change of all devices, as many at once as the API takes. */
const changing =
  (change: Change) =>
  (ids: readonly string[], onProgress: (through: number) => void): Promise<EachResult> =>
    forAll(
      ids,
      (deviceIds) => dataOf(api.POST("/api/v1/devices/bulk-update", { body: { deviceIds, change } })),
      onProgress,
    );

/** One by one: a group takes all devices of a call, or none. */
const joining = (groupId: string) => (deviceId: string) =>
  dataOf(
    api.POST("/api/v1/device-groups/{id}/devices", {
      params: { path: { id: groupId } },
      body: { deviceIds: [deviceId] },
    }),
  );

const decommission = (deviceIds: string[]) =>
  dataOf(api.POST("/api/v1/devices/bulk-decommission", { body: { deviceIds } }));

type Named = { id: string; name: string };
type ChooserProps = {
  isOneOrganization: boolean;
  label: string;
  records: readonly Named[] | undefined;
  /** Text of the choice of none. */
  none: string | undefined;
  chosenId: string;
  choose(id: string): void;
};

/** Where the devices go: records of their one organization. */
function Chooser({ isOneOrganization, label, records, none, chosenId, choose }: ChooserProps) {
  return isOneOrganization ? (
    <Field label={label}>
      <select value={chosenId} onChange={(event) => choose(event.target.value)}>
        <option value="">{none ?? "Choose one"}</option>
        <NamedOptions of={records ?? []} />
      </select>
    </Field>
  ) : (
    <p>These devices belong to several organizations: choose one at the top of the page first.</p>
  );
}
