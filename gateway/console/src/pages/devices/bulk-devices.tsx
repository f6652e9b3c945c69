import type { ItemOf } from "@muster/client";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget, useGet } from "../../api/queries.ts";
import { BulkAction } from "../../parts/bulk-action.tsx";
import { Field } from "../../parts/field.tsx";
import { Operation } from "../../parts/operation.tsx";
import { NamedOptions } from "../../parts/options.tsx";

type Device = ItemOf<"/api/v1/devices">;
type Asking = "move" | "group" | "updatesOn" | "updatesOff" | "decommission" | null;

/** What can be done with several devices at once. */
export function BulkDevices({ devices, onDone }: { devices: readonly Device[]; onDone(): void }) {
  const [asking, ask] = useState<Asking>(null);
  const [placeId, setPlace] = useState("");
  const forget = useForget();
  const [orgId = "", ...others] = [...new Set(devices.map((device) => device.orgId))];
  const isOneOrganization = others.length === 0;
  const query = { orgId, limit: "100" };
  const isPlacing = (asking === "move" || asking === "group") && isOneOrganization;
  const sites = useGet("/api/v1/orgs/sites", { params: { query } }, { enabled: isPlacing });
  const groups = useGet("/api/v1/device-groups", { params: { query } }, { enabled: isPlacing });
  const open = (what: Asking) => {
    setPlace("");
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
  const path = (id: string) => ({ path: { id } });
  const chooser = (label: string, places: readonly { id: string; name: string }[] | undefined, none?: string) =>
    isOneOrganization ? (
      <Field label={label}>
        <select value={placeId} onChange={(event) => setPlace(event.target.value)}>
          <option value="">{none ?? "Choose one"}</option>
          <NamedOptions of={places ?? []} />
        </select>
      </Field>
    ) : (
      <p>These devices belong to several organizations: choose one at the top of the page first.</p>
    );
  return (
    <>
      <Operation name="PATCH /api/v1/devices/{id}" onClick={() => open("move")}>
        Move to site …
      </Operation>
      <Operation name="POST /api/v1/device-groups/{id}/devices" onClick={() => open("group")}>
        Add to group …
      </Operation>
      <Operation name="POST /api/v1/devices/{id}/auto-update" onClick={() => open("updatesOn")}>
        Updates on …
      </Operation>
      <Operation name="POST /api/v1/devices/{id}/auto-update" onClick={() => open("updatesOff")}>
        Updates off …
      </Operation>
      <Operation name="DELETE /api/v1/devices/{id}" onClick={() => open("decommission")}>
        Decommission …
      </Operation>
      {asking === "move" ? (
        <BulkAction
          {...shared}
          title={`Move ${count}`}
          verb="Move"
          isDisabled={!isOneOrganization}
          work={(id) =>
            dataOf(api.PATCH("/api/v1/devices/{id}", { params: path(id), body: { siteId: placeId || null } }))
          }
        >
          {chooser("To the site", sites.data?.data, "none: out of their sites")}
        </BulkAction>
      ) : null}
      {asking === "group" ? (
        <BulkAction
          {...shared}
          title={`Add ${count} to a group`}
          verb="Add"
          isDisabled={placeId === ""}
          work={(id) =>
            dataOf(api.POST("/api/v1/device-groups/{id}/devices", { params: path(placeId), body: { deviceIds: [id] } }))
          }
        >
          {chooser("Group", groups.data?.data)}
        </BulkAction>
      ) : null}
      {asking === "updatesOn" || asking === "updatesOff" ? (
        <BulkAction
          {...shared}
          title={`Turn agent updates ${asking === "updatesOn" ? "on" : "off"}`}
          verb={asking === "updatesOn" ? "Turn on" : "Turn off"}
          work={(id) => {
            const body = { enabled: asking === "updatesOn" };
            return dataOf(api.POST("/api/v1/devices/{id}/auto-update", { params: path(id), body }));
          }}
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
          work={(id) => dataOf(api.DELETE("/api/v1/devices/{id}", { params: path(id) }))}
        >
          <p>
            The tokens of their agents are refused at once and for ever; records, logs and audit rows stay. They no
            longer count against any limit.
          </p>
        </BulkAction>
      ) : null}
    </>
  );
}
